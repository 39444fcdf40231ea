"""Fifty candidates in one campaign on one Prefect server, whose database is PostgreSQL.

    python benchmarks/bench_scale.py [--candidates 50] [--hosts 10] [--quick] [--json OUT]

Starts a private PostgreSQL (Debian's package postgresql; as root it runs as another user), a
Prefect server on it, and one ``runoff compare`` of so many simulated engines on this machine,
one after another. With --hosts they are tiny models on llama.cpp's server instead, spread over
so many machines, each an sshd of its own on loopback (Debian's openssh-server), which work at
the same time. Printed are what Prefect's API knows of the tasks against the plan,
the memory of controller and server from beginning to end, and the seconds per candidate that
neither the load nor the engines' starts took.
"""

import argparse
import asyncio
import contextlib
import datetime as dt
import glob
import importlib.util
import json
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from reports.records import read_records
from reports.run.ledger_file import read_ledger
from reports.run.read import Run, read_run

ROOT = Path(__file__).parents[1]
CAMPAIGN = """
schema_version: 1
name: scale
contract:
  model: tiny-llama-19m
  precision: {{weights: float16, kv_cache: float16}}
  prompt_tokens: 16
  output_tokens: 8
  concurrency: 4
  slo: {{ttft: 20 s, itl: 5 s}}
candidates:
{candidates}
matrix: {{concurrency: [4], rates: [], requests: 24, warmup: fixed, warmup_requests: 4,
  replications: {replications}}}
screening: {{unknown: measure}}
exploratory: true
"""
CANDIDATE = "  - {{name: c{number:02}, host: {host}, {engine}}}\n"
SIMULATED = "runtime: rehearsal"
REAL = (
    "runtime: llama_server, version: '{version}', checkpoint: dummy, "
    "assumptions: {{price: $0.10/h}}, settings: {{max_sequences: 4, threads: 1, "
    "programs: {{python: {python}}}}}"
)
PER_VISIT = ("launch", "measure", "stop")
ONCE = ("screened", "checked", "released", "concluded", "reported")


@dataclass
class Memory:
    """Resident memory of some processes over time, in MiB, looked at each second."""

    pids: Mapping[str, int]
    seen: dict[str, list[float]] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.done.wait(1.0):
            for name, pid in self.pids.items():
                with contextlib.suppress(OSError):
                    self.seen.setdefault(name, []).append(resident_mib(pid))


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--candidates", type=int, default=50)
    arguments.add_argument("--hosts", type=int, default=0, help="0: all on this machine")
    arguments.add_argument("--replications", type=int, default=2)
    arguments.add_argument("--quick", action="store_true", help="six candidates, one launch")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    if given.quick:
        given.candidates, given.replications = 6, 1
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="runoff-scale-")))
        folder.chmod(0o755)  # PostgreSQL's user passes through
        database = stack.enter_context(postgresql(folder))
        server = stack.enter_context(prefect_server(folder, database))
        machines = stack.enter_context(hosts(folder, given.hosts))
        found = campaign(folder, server, machines, given)
    show(found)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


def campaign(
    folder: Path,
    prefect: tuple[str, int],
    machines: tuple[list[str], dict[str, str]],
    given: argparse.Namespace,
) -> dict[str, Any]:
    """One compare, and what is known of it afterwards."""
    (url, server), (names, environment) = prefect, machines
    file = folder / "scale.yaml"
    engine = SIMULATED
    if environment:
        engine = REAL.format(
            version=f"b{version('xllamacpp').rpartition('.')[2]}", python=sys.executable
        )
    rows = (
        CANDIDATE.format(number=number, host=names[number % len(names)], engine=engine)
        for number in range(given.candidates)
    )
    text = CAMPAIGN.format(candidates="".join(rows), replications=given.replications)
    file.write_text(text)
    (folder / "locks").mkdir()
    log = (folder / "compare.log").open("wb")
    began, began_s = dt.datetime.now(dt.UTC), time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.cli", "compare", str(file), "--yes"],
        cwd=folder,
        env={
            **os.environ,
            **environment,
            "RUNOFF_HOME": str(folder / "home"),
            "RUNOFF_LOCKS": str(folder / "locks"),
            "PREFECT_API_URL": url,
        },
        stdout=log,
        stderr=log,
    )
    memory = Memory({"controller": process.pid, "Prefect server": server})
    looker = threading.Thread(target=memory.look)
    looker.start()
    code = process.wait()
    wall_s = time.monotonic() - began_s
    memory.done.set()
    looker.join()
    said = (folder / "compare.log").read_text()
    runs = folder / "runs" / "scale"
    if not runs.is_dir():
        raise SystemExit(f"nothing was measured (code {code}):\n{said[-3000:]}")
    run = read_run(max(runs.iterdir()))
    missed = missing_cells(run)
    tasks, states = asyncio.run(tasks_of(url))
    load = loads(run)
    busy_s, servers_s = union_s(load), servers_of(run)
    first, last = edge(run, "launching", 0), edge(run, "released", -1)
    start_s, end_s = (first - began).total_seconds(), wall_s - (last - began).total_seconds()
    apart_s = busy_s + (servers_s if len(names) == 1 else 0.0)
    return {
        "code": code,
        "candidates": given.candidates,
        "hosts": len(names),
        "replications": given.replications,
        "wall_s": wall_s,
        "load_s": sum(end - begin for begin, end in load) / 1e9,
        "load_union_s": busy_s,
        "at_the_same_time": overlap(load),
        "servers_s": servers_s,
        "start_s": start_s,
        "end_s": end_s,
        "overhead_per_candidate_s": (wall_s - start_s - end_s - apart_s) / given.candidates,
        "planned": planned(run),
        "tasks": tasks,
        "states": states,
        "cells_missing": missed,
        "memory_mib": {name: quarters(seen) for name, seen in memory.seen.items()},
        "said": said[-400:] if code not in (0, 5) else "",
    }


def edge(run: Run, event: str, place: int) -> dt.datetime:
    entries = read_ledger(run.folder.file("ledger.jsonl"))
    return dt.datetime.fromisoformat([e for e in entries if e["event"] == event][place]["at"])


def planned(run: Run) -> dict[str, int]:
    """How many tasks of each kind the plan asks for."""
    visits = len(run.plan.order)
    cells = sum(len(visit.load_points) for visit in run.plan.order)
    names = {visit.candidate for visit in run.plan.order}
    machines = {visit.host for visit in run.plan.order}
    counts = {"launch": visits, "measure": cells, "stop": visits}
    return {**counts, "prepare": len(names), "acquire": len(machines), "once": len(ONCE)}


async def tasks_of(url: str) -> tuple[dict[str, int], dict[str, int]]:
    """What Prefect's API knows: task runs by kind, and by state."""
    kinds: Counter[str] = Counter()
    states: Counter[str] = Counter()
    offset = 0
    while True:
        page = asked(f"{url}/task_runs/filter", {"limit": 200, "offset": offset})
        for each in page:
            kinds[kind(each["name"])] += 1
            states[each["state_name"]] += 1
        offset += len(page)
        if len(page) < 200:
            return dict(kinds), dict(states)


def kind(name: str) -> str:
    first = name.split(maxsplit=1)[0].split("-", maxsplit=1)[0]
    if first in ("launch", "stop", "prepare", "acquire"):
        return first
    return "once" if first in ONCE else "measure"


def asked(url: str, body: Any) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def missing_cells(run: Run) -> int:
    asked_for = sum(len(visit.load_points) for visit in run.plan.order)
    return asked_for - len(run.cells)


def loads(run: Run) -> list[tuple[int, int]]:
    """From the first send of each cell to its last answer, by this machine's clock."""
    spans = []
    for cell in run.cells:
        columns = read_records(cell.records).columns
        spans.append((int(np.min(columns.scheduled_ns)), int(np.max(columns.done_ns))))
    return sorted(spans)


def union_s(spans: list[tuple[int, int]]) -> float:
    """Seconds in which any load ran."""
    total, until = 0, 0
    for begin, end in spans:
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total / 1e9


def overlap(spans: list[tuple[int, int]]) -> int:
    """The most loads that ran at the same time."""
    edges = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


def servers_of(run: Run) -> float:
    """What the engines took to start and to end, in s."""
    documents = [
        json.loads(path.read_text()) for path in run.folder.path.glob("launch/*/*/launch.json")
    ]
    return sum(d["start_ns"] + d["stopped"]["duration_ns"] for d in documents) / 1e9


def quarters(seen: list[float]) -> list[float]:
    """The median of each quarter of the run: what grows with the tasks shows."""
    places = np.linspace(0, len(seen), 5).astype(int)
    return [
        round(float(np.median(seen[a:b])), 1) if b > a else 0.0 for a, b in pairwise(places)
    ]


def show(found: Mapping[str, Any]) -> None:
    print(
        f"{found['candidates']} candidates, {found['replications']} launches each, on "
        f"{found['hosts']} host(s): exit code {found['code']}, {found['wall_s']:.0f} s in all"
    )
    print(
        f"  load {found['load_s']:.0f} s, of which {found['load_union_s']:.0f} s of the clock; "
        f"engines' starts and ends {found['servers_s']:.0f} s; "
        f"{found['at_the_same_time']} load(s) at the same time at most"
    )
    print(
        f"  until the first launch {found['start_s']:.1f} s, after the last machine went back "
        f"{found['end_s']:.1f} s; between, beyond load"
        f"{' and engines' if found['hosts'] == 1 else ''}: "
        f"{found['overhead_per_candidate_s']:.2f} s per candidate"
    )
    print(f"  {'tasks':12}{'planned':>9}{'Prefect':>9}")
    for name, count in found["planned"].items():
        seen = found["tasks"].get(name, 0)
        print(f"  {name:12}{count:>9}{seen:>9}{'' if seen == count else '  DIFFERENT'}")
    states = ", ".join(f"{state} {count}" for state, count in found["states"].items())
    print(f"  states: {states}; cells missing: {found['cells_missing']}")
    for name, values in found["memory_mib"].items():
        words = " → ".join(f"{value:.0f}" for value in values)
        print(f"  memory of the {name}, median of each quarter: {words} MiB")
    if found["said"]:
        print(found["said"])


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A private cluster on a socket and a port of loopback; SQLAlchemy's address of it."""
    bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))  # noqa: PTH207
    if not bins:
        raise SystemExit("no PostgreSQL: install Debian's package postgresql")
    place, port = folder / "postgresql", free_port()
    place.mkdir()
    user: dict[str, Any] = {}
    if os.getuid() == 0:
        known = {each.pw_name: each for each in pwd.getpwall()}
        owner = known.get("postgres") or known["nobody"]
        os.chown(place, owner.pw_uid, owner.pw_gid)
        user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    data = place / "data"
    quiet = {"stdout": subprocess.DEVNULL, "cwd": place, **user}
    make = [f"{bins[-1]}/initdb", "-D", str(data), "-U", "runoff", "-A", "trust", "-N"]
    subprocess.run(make, check=True, **quiet)
    log = (place / "log").open("wb")
    server = subprocess.Popen(
        [
            *(f"{bins[-1]}/postgres", "-D", str(data), "-p", str(port)),
            *("-k", str(place), "-h", "127.0.0.1"),
        ],
        stderr=log,
        **quiet,
    )
    try:
        ready = [f"{bins[-1]}/pg_isready", "-h", "127.0.0.1", "-p", str(port), "-q"]
        until(lambda: subprocess.run(ready, check=False).returncode == 0)
        subprocess.run(
            [
                *(f"{bins[-1]}/createdb", "-h", "127.0.0.1", "-p", str(port)),
                *("-U", "runoff", "prefect"),
            ],
            check=True,
            cwd=place,
        )
        yield f"postgresql+asyncpg://runoff@127.0.0.1:{port}/prefect"
    finally:
        server.terminate()
        server.wait(30)


@contextlib.contextmanager
def prefect_server(folder: Path, database: str) -> Iterator[tuple[str, int]]:
    """A whole Prefect server on that database: its API's address and its process."""
    port = free_port()
    log = (folder / "prefect.log").open("wb")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "prefect", "server", "start", "--no-ui"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        env={
            **os.environ,
            "DO_NOT_TRACK": "1",
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_DATABASE_CONNECTION_URL": database,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        },
        stdout=log,
        stderr=log,
    )
    url = f"http://127.0.0.1:{port}/api"
    try:
        until(lambda: server.poll() is not None or answers(f"{url}/health"), 180)
        if server.poll() is not None:
            raise SystemExit((folder / "prefect.log").read_text()[-3000:])
        yield url, listener(server.pid)
    finally:
        server.terminate()
        server.wait(60)


def listener(parent: int) -> int:
    """The process of the server that listens: its command starts it as a child."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    sizes = {int(pid): resident_mib(int(pid)) for pid in (str(parent), *children)}
    return max(sizes, key=lambda pid: sizes[pid])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextlib.contextmanager
def hosts(folder: Path, count: int) -> Iterator[tuple[list[str], dict[str, str]]]:
    """So many machines to log in to, as a campaign names them, and a user who knows them."""
    if not count:
        yield ["local"], {}
        return
    spec = importlib.util.spec_from_file_location(
        "hosts", ROOT / "tests" / "flows" / "remote" / "hosts.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["hosts"] = module
    spec.loader.exec_module(module)
    if module.missing() is not None:
        raise SystemExit(module.missing())
    home = folder / "user"
    home.mkdir()
    boxes, configs = [], []
    try:
        for number in range(count):
            box = module.SshHost(folder / f"box{number}", folder)
            box.start()
            boxes.append(box)
            box.client(home)
            text = (home / ".ssh" / "config").read_text()
            configs.append(text.replace("Host box", f"Host box{number}"))
        (home / ".ssh" / "config").write_text("".join(configs))
        yield (
            [f"ssh:box{number}" for number in range(count)],
            {"RUNOFF_SSH_CONFIG": str(home / ".ssh" / "config")},
        )
    finally:
        for box in boxes:
            box.stop()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def until(holds: Any, limit_s: float = 60.0) -> None:
    end_s = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end_s:
            raise SystemExit("it did not start in time")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
