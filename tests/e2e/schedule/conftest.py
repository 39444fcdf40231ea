"""A team's day in a minute: a server, a worker, schedules, a kill, and the day after it.

It is lived once, with real processes; the tests look at what was left of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.launch.processes import living
from reports.run.ledger_file import read_ledger
from tests.conftest import ROOT, refuse_or_skip
from tests.e2e.campaign.conftest import CONTRACT, MATRIX, engine

LIMIT_S = 240.0  # patience with a busy machine; nothing waits for its end
VERDICTS = ("--allow", "5", "--allow", "7")  # what a busy machine may make of a rehearsal
FINAL = ("COMPLETED", "FAILED", "CANCELLED", "CRASHED")
Cell = tuple[str, str, int]
FORMS = ("compare", "reevaluate", "signoff", "sweep")
DATABASE = "PREFECT_SERVER_DATABASE_CONNECTION_URL"
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def until(look: Callable[[], Any], what: str) -> Any:
    """What ``look`` finds, once it finds something."""
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s:
        found = look()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"never: {what}")


@dataclass
class Place:
    """Where a user works: a folder, a home, and the commands that are started there."""

    path: Path
    environment: Mapping[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def campaign(self, name: str) -> Path:
        document = {
            "schema_version": 1,
            "name": name,
            # seconds a cell: a second flow is skipped, and the worker killed, within the run
            "contract": {**CONTRACT, "output_tokens": 128},
            "candidates": [engine("a"), engine("b")],
            "matrix": MATRIX,
            "screening": {"unknown": "measure"},
            "exploratory": True,
        }
        file = self.path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        return file

    def begin(self, *words: str | Path, **more: str) -> subprocess.Popen[str]:
        """``runoff`` with these words, in a process group of its own."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "flows.cli", "--debug", *map(str, words)],
            cwd=self.path,
            env={**self.environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def runoff(self, *words: str | Path, **more: str) -> tuple[int, str, str]:
        """The same to its end: exit code, standard output, standard error."""
        process = self.begin(*words, **more)
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err

    def up(self, *words: str | Path, **more: str) -> Server:
        """A started ``runoff up``, once its worker is."""
        port = free_port()
        process = self.begin("up", "--port", str(port), *words, **more)
        server = Server(process, f"http://127.0.0.1:{port}")
        file = self.home / "state" / "up" / "up.json"

        def is_up() -> bool:
            if process.poll() is not None:
                raise AssertionError(process.communicate())
            return file.exists()

        until(is_up, "runoff up")
        return server

    @property
    def home(self) -> Path:
        return Path(self.environment["RUNOFF_HOME"])

    def runs(self, campaign: str) -> list[Path]:
        return sorted((self.path / "runs" / campaign).glob("*-*"))


@dataclass
class Server:
    """A Prefect server as its API shows it."""

    process: subprocess.Popen[str]
    ui: str

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # loopback
            f"{self.ui}/api/{path}", data, {"content-type": "application/json"}
        )
        with DIRECT.open(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def deployment(self, name: str) -> Mapping[str, Any]:
        return self.ask(f"deployments/name/{name}")

    def flow_runs(self, deployment: str) -> list[Mapping[str, Any]]:
        """Runs of a deployment that are more than planned, oldest first."""
        number = self.deployment(deployment)["id"]
        found = self.ask("flow_runs/filter", {"deployments": {"id": {"any_": [number]}}})
        begun = [each for each in found if each["state_type"] != "SCHEDULED"]
        return sorted(begun, key=lambda each: each["expected_start_time"])

    def click(self, deployment: str, **parameters: Any) -> Mapping[str, Any]:
        """What the server answers to a click on the form's button."""
        number = self.deployment(deployment)["id"]
        wanted = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        try:
            return self.ask(f"deployments/{number}/create_flow_run", wanted)
        except urllib.error.HTTPError as error:
            return {"refused": error.code}

    def ended(self, number: str) -> Mapping[str, Any] | None:
        """A run, once it is in a final state."""
        run = self.ask(f"flow_runs/{number}")
        return run if run["state_type"] in FINAL else None

    def pause(self, deployment: str) -> None:
        """Let no more of its runs be scheduled."""
        number = self.deployment(deployment)["id"]
        self.ask(f"deployments/{number}/pause_deployment", {})


def of_home(home: Path) -> dict[int, str]:
    """Living processes that were started with this home, and their command lines."""
    word = f"RUNOFF_HOME={home}".encode()
    found = {}
    for each in living():
        try:
            if word in Path(f"/proc/{each.pid}/environ").read_bytes().split(b"\0"):
                line = Path(f"/proc/{each.pid}/cmdline").read_bytes()
                found[each.pid] = line.replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = tmp_path_factory.mktemp("team")
    (path / "locks").mkdir()
    for module in ("click", "token", "yaml"):  # of the user's own; none of ours is hidden
        (path / f"{module}.py").write_text("raise SystemExit('not the module meant')\n")
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    environment = {
        **plain,
        "RUNOFF_HOME": str(tmp_path_factory.mktemp("home")),
        "RUNOFF_LOCKS": str(path / "locks"),
        "RUNOFF_LOOPBACK_ONLY": "1",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "PREFECT_WORKER_PREFETCH_SECONDS": "0",  # else one is there, waiting, when a run is due
        "NO_COLOR": "1",
    }
    found = Place(path, environment)
    yield found
    for process in found.started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        for pipe in (process.stdout, process.stderr):
            if not pipe.closed:
                pipe.read()
                pipe.close()
        process.wait(LIMIT_S)


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str | None]:
    """The address of a database of our own, on loopback; None where none is installed."""
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if binaries is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="runoff-pg-"))
    user = "nobody" if os.getuid() == 0 else None  # its server refuses to run as root
    if user is not None:
        shutil.chown(folder, user)

    def program(name: str, *words: str) -> None:
        subprocess.run(
            [binaries / name, "-D", folder / "data", *words],
            user=user,
            cwd=folder,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_S,
        )

    port = free_port()
    program("initdb", "--username=runoff", "--auth=trust", "--no-sync")
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
    program("pg_ctl", "start", "--wait", "-l", str(folder / "log"), "-o", settings)
    yield f"postgresql+asyncpg://runoff@127.0.0.1:{port}/postgres"
    program("pg_ctl", "stop", "--mode=immediate")
    shutil.rmtree(folder)


@dataclass(kw_only=True)
class First:
    """What the first day left: a server on SQLite whose worker was killed in mid-run."""

    forms: Mapping[str, Mapping[str, Any]]
    second_up: tuple[int, str, str]
    deployed: tuple[int, str, str]
    sweep: Mapping[str, Any]
    refused: Mapping[str, Any]
    skipped: Mapping[str, Any]
    tardy: Mapping[str, Any]
    begun: Mapping[str, Any]
    measured: list[Cell]
    ended: tuple[int, str]
    left: Mapping[int, str]


@pytest.fixture(scope="module")
def first(place: Place) -> First:
    small, tardy = place.campaign("small"), place.campaign("tardy")
    server = place.up()
    forms = {name: server.deployment(f"runoff-{name}/{name}") for name in FORMS}
    second = place.begin("up", "--port", str(free_port()))
    place.runoff(
        *("deploy", tardy, "--rehearse", "--every", "10s", "--late", "1s"),
        *("--sweep-every", "1h"),
    )
    deployed = place.runoff("deploy", small, "--rehearse", "--every", "10s")
    sweep = server.deployment("runoff-sweep/sweep")
    late = until(lambda: final(server, "compare-tardy"), "a missed run")
    server.pause("runoff-compare/compare-tardy")
    until(lambda: place.runs("small"), "a run by the schedule")
    server.pause("runoff-compare/compare-small")
    skipped = server.click("runoff-compare/compare-small")
    refused = server.click("runoff-compare/compare", campaign="no such")
    until(lambda: cells(place), "a cell of the run")
    overlapping = until(lambda: server.ended(skipped["id"]), "the end of the run beside it")
    runs = server.flow_runs("runoff-compare/compare-small")
    begun = next(each for each in runs if each["state_name"] == "Running")
    for pid, line in of_home(place.home).items():
        if "prefect worker" in line or "prefect.engine" in line:
            os.kill(pid, signal.SIGKILL)
    measured = cells(place)
    _, said = server.process.communicate(timeout=LIMIT_S)
    until(lambda: not of_home(place.home), "nothing is left")
    return First(
        forms=forms,
        second_up=(second.wait(LIMIT_S), *second.communicate()),
        deployed=deployed,
        sweep=sweep,
        refused=refused,
        skipped=overlapping,
        tardy=late,
        begun=begun,
        measured=measured,
        ended=(server.process.returncode, said),
        left=of_home(place.home),
    )


def final(server: Server, deployment: str, *, but: str = "") -> Mapping[str, Any] | None:
    """A run of a deployment in a final state of another name, if there is one."""
    runs = server.flow_runs(f"runoff-compare/{deployment}")
    ends = (each for each in runs if each["state_type"] in FINAL)
    return next((each for each in ends if each["state_name"] != but), None)


def cells(place: Place) -> list[Cell]:
    """Run, candidate and launch of each cell that was measured."""
    return [
        (run.name, entry["candidate"], entry["replication"])
        for run in place.runs("small")
        for entry in read_ledger(run / "ledger.jsonl")
        if entry["event"] == "measured"
    ]


@dataclass(kw_only=True)
class Second:
    """What the second day left: another server, which went on with the killed run."""

    recovered: Mapping[str, Any]
    measured: list[Cell]
    kept: tuple[Mapping[str, Any], Mapping[str, Any]]
    from_checkout: subprocess.CompletedProcess[str]
    checked_out: Mapping[str, Mapping[str, Any]]
    form: Mapping[str, str]
    complaints: list[str]
    ended: tuple[int, str]


@pytest.fixture(scope="module")
def second(first: First, place: Place, postgresql: str | None, chromium: Any) -> Second:
    more = {} if postgresql is None else {DATABASE: postgresql}
    server = place.up(place.path / "small.yaml", **more)
    place.runoff("deploy", "small.yaml", "--rehearse", "--every", "10s", *VERDICTS)
    until(lambda: server.flow_runs("runoff-compare/compare-small"), "a run by the schedule")
    server.pause("runoff-compare/compare-small")
    form, complaints = opened(chromium, server, place.path / "form.png")
    recovered = until(lambda: final(server, "compare-small", but="Skipped"), "its end")
    measured = cells(place)
    server.click("runoff-compare/compare-small")
    before = server.deployment("runoff-compare/compare-small")
    again_up(place, server)
    after = server.deployment("runoff-compare/compare-small")
    from_checkout = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=ROOT,
        env={
            **place.environment,
            "PREFECT_API_URL": f"{server.ui}/api",
            "PREFECT_HOME": str(place.path / "prefect"),
            "DO_NOT_TRACK": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    checked_out = {name: server.deployment(f"runoff-{name}/{name}") for name in FORMS}
    until(lambda: len(cells(place)) > len(measured), "a cell of another run")
    server.process.send_signal(signal.SIGTERM)
    _, said = server.process.communicate(timeout=LIMIT_S)
    return Second(
        recovered=recovered,
        measured=measured,
        kept=(before, after),
        from_checkout=from_checkout,
        checked_out=checked_out,
        form=form,
        complaints=complaints,
        ended=(server.process.returncode, said),
    )


def again_up(place: Place, server: Server) -> None:
    """Register what a ``runoff up small.yaml`` does when it is started again."""
    words = (
        "import sys\n"
        "from pathlib import Path\n"
        "from flows.deployments import forms, of_campaign\n"
        "from flows.offering import offered, register_at\n"
        "url, *files = sys.argv[1:]\n"
        "entries = [of_campaign('compare', each.name, {'campaign': each.file}, None,\n"
        "           keeps=True) for each in offered(map(Path, files))]\n"
        "register_at(url, (*forms(), *entries), [*map(Path, files)], pool='runoff',\n"
        "            pool_type='process', folder=Path.cwd(), job_variables={})\n"
    )
    subprocess.run(
        [sys.executable, "-P", "-c", words, f"{server.ui}/api", "small.yaml"],
        cwd=place.path,
        env={**place.environment, "PREFECT_HOME": str(place.path / "prefect")},
        check=True,
        timeout=LIMIT_S,
    )


def opened(chromium: Any, server: Server, picture: Path) -> tuple[dict[str, str], list[str]]:
    """The form of a comparison as a person sees it: label and text; what the page lacks."""
    number = server.deployment("runoff-compare/compare")["id"]
    page = chromium.new_page(viewport={"width": 1200, "height": 1600})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto(f"{server.ui}/deployments/deployment/{number}/run")
    page.get_by_text("skip_when_late_min").wait_for(timeout=LIMIT_S * 1000)
    page.screenshot(path=picture)
    text = page.inner_text("main") if page.query_selector("main") else page.inner_text("body")
    page.close()
    return {"text": text}, complaints


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless browser: Debian's chromium."""
    program = shutil.which("chromium")
    if program is None:
        refuse_or_skip("no chromium: install Debian's package of that name")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
