"""The store under SIGKILL: at every file operation, and at random moments inside writes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.store import Store
from reports.run.layout import CellName
from reports.run.ledger_file import read_ledger
from reports.run.read import read_run

ROOT = Path(__file__).parents[3]
MEASURES = """
import sys
from pathlib import Path
from flows.store import Store
from reports.run.cell_file import AskedCell, AskedSlo, CellFile
from reports.run.layout import CellName

POINTS, REPLICATIONS = ("closed-1", "closed-4"), 3

def content(point, replication, ending, size):
    return f"{point} {replication} {ending} ".encode() * size

def measure(path, size=40):
    with Store.open(path) as store:
        store.record("resumed")
        store.discard_partials()
        for point in POINTS:
            cell = CellName(candidate="A", load_point=point, key="0123abcd")
            for replication in range(REPLICATIONS):
                if store.is_complete(cell, replication):
                    continue
                store.record("measuring", load_point=point, replication=replication)
                partial = store.partial(cell, replication)
                for ending in ("parquet", "client.json", "server.json"):
                    with (partial / f"{replication}.{ending}").open("wb") as file:
                        file.write(content(point, replication, ending, size))
                store.keep(cell, replication, partial, CellFile(
                    run="r", candidate="A", load_point=point, key="0123abcd",
                    replication=replication, launch="l", host="local", load_host="local",
                    position=0, seed=1, basis="simulation", started_at="", ended_at="",
                    asked=AskedCell(slo=AskedSlo(), arrival="closed"), files={}))
                store.record("measured", load_point=point, replication=replication)
        store.write("summary.json", "whole\\n" * size)
"""
AT_EVERY_OPERATION = (
    MEASURES
    + """
import os, signal
root = Path(sys.argv[1])
acts = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
fatal = 0
while True:
    fatal += 1
    child = os.fork()
    if child == 0:
        count = 0
        def hook(event, arguments):
            global count
            if event in acts:
                count += 1
                if count == fatal:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        measure(root)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    store = Store.open(root)
    for path in root.glob("cells/*/*.cell.json"):
        cell = CellName.of(path.parent.name)
        number = int(path.name.partition(".")[0])
        assert store.is_complete(cell, number), path
    summary = root / "summary.json"
    assert not summary.exists() or summary.read_text() == "whole\\n" * 40
    store.close()
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0
        break
print(fatal)
"""
)
ONCE = MEASURES + "\nprint('ready', flush=True)\nmeasure(Path(sys.argv[1]), size=60_000)\n"


def _new_run(folder: Path) -> Path:
    with Store.create(folder, "demo", "r") as store:
        store.write("plan.json", "{}\n")
        return store.folder.path


def _check_whole(path: Path, size: int) -> None:
    expected = {(point, number) for point in ("closed-1", "closed-4") for number in range(3)}
    found = read_run(path).cells
    assert {(each.name.load_point, each.file.replication) for each in found} == expected
    for each in found:
        point, number = each.name.load_point, each.file.replication
        assert each.records.read_bytes() == f"{point} {number} parquet ".encode() * size
    with Store.open(path) as store:
        assert store.discard_partials() == ()
        for point, number in expected:
            cell = CellName(candidate="A", load_point=point, key="0123abcd")
            assert store.is_complete(cell, number)


def _measured_twice(path: Path) -> list[str]:
    kept = [
        json.dumps([entry["load_point"], entry["replication"]])
        for entry in read_ledger(path / "ledger.jsonl")
        if entry["event"] == "measured"
    ]
    return [each for each in kept if kept.count(each) > 1]


@pytest.mark.e2e
def test_killed_at_every_file_operation_nothing_half_is_ever_taken_for_whole(
    tmp_path: Path,
) -> None:
    path = _new_run(tmp_path)

    ran = subprocess.run(
        [sys.executable, "-c", AT_EVERY_OPERATION, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 30
    _check_whole(path, 40)
    assert _measured_twice(path) == []


@pytest.mark.e2e
def test_killed_at_random_moments_a_resumed_run_has_every_cell_once_and_whole(
    tmp_path: Path,
) -> None:
    path, chance, killed = _new_run(tmp_path), random.Random(7), 0
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", ONCE, str(path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.06))
            child.kill()
        killed += child.returncode == -signal.SIGKILL
        with Store.open(path) as store:
            for cell_file in path.glob("cells/*/*.cell.json"):
                cell = CellName.of(cell_file.parent.name)
                assert cell is not None
                assert store.is_complete(cell, int(cell_file.name.partition(".")[0]))

    subprocess.run([sys.executable, "-c", ONCE, str(path)], cwd=ROOT, check=True)

    assert killed > 0
    _check_whole(path, 60_000)
    assert _measured_twice(path) == []
