"""Whole campaigns as a user starts them: the command, a home of its own, one Prefect server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.prefect_server import PrefectServer
from reports.run.ledger_file import read_ledger
from reports.run.read import Run, read_run

LIMIT_S = 300.0  # patience with a busy machine; nothing waits for its end
CONTRACT = {
    "model": "tiny-llama-19m",
    "precision": {"weights": "float16", "kv_cache": "float16"},
    "prompt_tokens": 16,
    "output_tokens": 8,
    "concurrency": 2,
    "slo": {"ttft": "2000 ms", "itl": "500 ms", "goodput": "50%"},
}
MATRIX = {
    "concurrency": [2],
    "requests": 20,
    "warmup": "fixed",
    "warmup_requests": 2,
    "replications": 2,
}


def llama(name: str, **changed: Any) -> dict[str, Any]:
    """A candidate on llama.cpp's own server, with two slots on a core of its own."""
    settings = {"max_sequences": 2, "threads": 1, "cpus": [1], **changed.pop("settings", {})}
    return {
        "name": name,
        "host": "local",
        "runtime": "llama_server",
        "checkpoint": "dummy",
        "settings": settings,
        "assumptions": {"price": "$0.10/h"},
        **changed,
    }


def engine(name: str, **settings: Any) -> dict[str, Any]:
    """A candidate that is simulated whatever is asked."""
    stated = {"max_sequences": 2, **settings}
    return {"name": name, "host": "local", "runtime": "rehearsal", "settings": stated}


@dataclass
class Folder:
    """Where a user works: campaign files, and the runs that they become."""

    path: Path
    environment: Mapping[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def campaign(self, candidates: Sequence[Mapping[str, Any]], **changed: Any) -> Path:
        """A campaign file in this folder."""
        document = {
            "schema_version": 1,
            "name": "small",
            "contract": CONTRACT,
            "candidates": list(candidates),
            "matrix": {**MATRIX, **changed.pop("matrix", {})},
            "screening": {"unknown": "measure"},
            "exploratory": True,
            **changed,
        }
        place = self.path / "small.yaml"
        place.write_text(yaml.safe_dump(document, sort_keys=False))
        return place

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """``runoff compare`` with these words, in a process group of its own."""
        started = subprocess.Popen(
            [sys.executable, "-P", "-m", "flows.cli", "--debug", "compare", *map(str, words)],
            cwd=self.path,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.started.append(started)
        return started

    def compare(self, *words: str | Path) -> Ended:
        """The same, to its end."""
        return ended(self.start(*words))

    @property
    def run(self) -> Run:
        """The newest run."""
        return read_run(max((self.path / "runs" / "small").iterdir()))

    def wait_for(
        self,
        wanted: Callable[[Mapping[str, Any]], bool],
        beside: subprocess.Popen[str],
        *,
        beyond: int = 0,
    ) -> Mapping[str, Any]:
        """The first entry beyond so many of the ledger that is wanted, once it is written."""
        until_s = time.monotonic() + LIMIT_S
        while time.monotonic() < until_s and beside.poll() is None:
            for path in (self.path / "runs").glob("small/*/ledger.jsonl"):
                for entry in read_ledger(path)[beyond:]:
                    if wanted(entry):
                        return entry
            time.sleep(0.02)
        beside.kill()
        raise AssertionError(beside.communicate())


@dataclass(frozen=True)
class Ended:
    """How the command ended and what it said."""

    code: int
    out: str
    err: str


def ended(process: subprocess.Popen[str]) -> Ended:
    """Wait for a started command."""
    out, err = process.communicate(timeout=LIMIT_S)
    return Ended(process.returncode, out, err)


def events(run: Run, *names: str) -> list[Mapping[str, Any]]:
    """The ledger's entries of these names."""
    return [entry for entry in run.ledger if entry["event"] in names]


def kept(run: Run) -> list[tuple[str, str, int]]:
    """Candidate, load point and replication of each cell that is evidence."""
    return [(c.name.candidate, c.name.load_point, c.file.replication) for c in run.cells]


def planned(run: Run) -> list[tuple[str, str, int]]:
    """The same of each cell of the plan."""
    return sorted(
        (visit.candidate, point, visit.replication)
        for visit in run.plan.order
        for point in visit.load_points
    )


def descendants_left(started: Sequence[subprocess.Popen[str]]) -> list[str]:
    """Processes of the sessions that were started, and servers that they launched."""
    sessions = {str(each.pid) for each in started}
    left = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] in sessions and fields[0] not in "ZX":
            left.append(stat.parent.name)
    return left


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """State and caches of all campaigns of these tests."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def prefect_url(home: Path) -> Iterator[str]:
    """One Prefect server for all of them, as a user with a server has it."""
    server = PrefectServer(home / "state" / "prefect", os.environ)
    yield server.wait()
    server.stop()


@contextmanager
def folder_at(place: Path, home: Path, **more: str) -> Iterator[Folder]:
    """A folder for campaigns with locks of its own; what it starts ends with it."""
    (place / "locks").mkdir(parents=True)
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    environment = {
        **plain,
        "RUNOFF_HOME": str(home),
        "RUNOFF_LOCKS": str(place / "locks"),
        "RUNOFF_LOOPBACK_ONLY": "1",
        "NO_COLOR": "1",
        **more,
    }
    folder = Folder(place, environment)
    yield folder
    for started in folder.started:
        if started.poll() is None:
            started.kill()
            started.communicate()


@pytest.fixture
def alone(tmp_path: Path, home: Path) -> Iterator[Folder]:
    """A folder for campaigns that start Prefect's server themselves."""
    with folder_at(tmp_path, home) as folder:
        yield folder


@pytest.fixture
def folders(folder: Folder) -> Callable[[str], Folder]:
    """More of them, for campaigns that run at the same time, each with locks of its own."""

    def one(name: str) -> Folder:
        (folder.path / name / "locks").mkdir(parents=True)
        locks = {"RUNOFF_LOCKS": str(folder.path / name / "locks")}
        return Folder(folder.path / name, {**folder.environment, **locks}, folder.started)

    return one


@pytest.fixture
def folder(alone: Folder, prefect_url: str) -> Folder:
    """A folder for campaigns beside a Prefect server that is there already."""
    alone.environment = {**alone.environment, "PREFECT_API_URL": prefect_url}
    return alone


def written(run: Run, name: str) -> Any:
    """A JSON file at the top of the run."""
    return json.loads(run.folder.file(name).read_text())
