"""``runoff up``: a Prefect server with its UI, a worker and the deployments, on one machine."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flows.bench.places import write_whole
from flows.errors import InfrastructureError, UsageError
from flows.folder_lock import hold
from flows.interruption import Interrupted, Interruption
from flows.launch.clock import SystemClock
from flows.launch.ending import KILL, Step, end
from flows.launch.guard import Guard, Orders
from flows.launch.processes import MARK, Family, parent_of
from flows.prefect_server import PASSWORD, PrefectServer, Shown, client_settings

POOL: Final = "runoff"
AT_ONCE: Final = 4  # flows of the worker; two that measure one machine wait for each other
START_S: Final = 300.0  # the first start of all makes the database, perhaps on another machine
WIND_DOWN_S: Final = 600.0  # machines are given back meanwhile
CLIENTS_PASSWORD: Final = "PREFECT_API_AUTH_STRING"  # noqa: S105 - a variable's name
_FILE: Final = "up.json"
_LOOK_S: Final = 0.2
_ORPHANED: Final = (Step(signal="SIGTERM", patience_s=60.0), *KILL)
_POLLS: Final = {"PREFECT_WORKER_QUERY_SECONDS": "5"}  # where the user states no other
_WORKER: Final = {
    "PREFECT_LOGGING_LEVEL": "WARNING",  # a line is a call to the server beside a measurement
    "PREFECT_LOGGING_TO_API_ENABLED": "true",
    "PYTHONSAFEPATH": "1",  # no file of the user's folder hides a module of ours
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """Where one that runs is reached."""

    pid: int
    api_url: str
    ui_url: str


def folder(state: Path) -> Path:
    """Where its database, its logs and its address are kept."""
    return state / "up"


def running(state: Path) -> Up | None:
    """The one that runs in this home; None where none does."""
    place = folder(state)
    if not place.is_dir():
        return None
    held = hold(place)
    if held is not None:
        os.close(held)
        return None
    with suppress(OSError, ValueError, TypeError):
        return Up(**json.loads((place / _FILE).read_bytes()))
    return None  # it is only starting


@contextmanager
def alone(state: Path) -> Iterator[Path]:
    """The folder, ours until the block ends; UsageError where another one runs."""
    place = folder(state)
    place.mkdir(parents=True, exist_ok=True)
    held = hold(place)
    if held is None:
        other = running(state)
        seen = "it is only starting" if other is None else f"pid {other.pid}, {other.ui_url}"
        raise UsageError(
            "runoff up", f"one runs already in this home ({seen})", "Use it, or end it first"
        )
    try:
        yield place
    finally:
        (place / _FILE).unlink(missing_ok=True)
        os.close(held)


def keep_up(
    place: Path,
    shown: Shown,
    environment: Mapping[str, str],
    register: Callable[[str], Any],
    say: Callable[[str], None],
) -> None:
    """Run server, deployments (by ``register``, given the API's address) and worker till told.

    Raises
    ------
    InfrastructureError
        If one of them ends by itself; the others are ended too.
    """
    _refuse_taken(shown)
    interruption = Interruption("ending the runs, the worker and the server")
    interruption.tells(lambda: "what still runs winds down")
    with interruption.heard():
        server = PrefectServer(place, environment, shown)
        try:
            server.wait(START_S, interruption.check)
            settings = {**client_settings(place, server.url), **_password(environment)}
            os.environ.update(settings)
            register(server.url)
            worker = Worker(place, {**_POLLS, **environment, **settings, **_WORKER})
            try:
                up = Up(
                    pid=os.getpid(),
                    api_url=server.url,
                    ui_url=server.url.removesuffix("/api"),
                )
                write_whole(place / _FILE, json.dumps(_plain(up)) + "\n")
                say(f"UI       {up.ui_url}")
                say(f"worker   {worker.log}")
                _watch(server, worker, place, interruption)
            finally:
                worker.stop(say)
        except Interrupted:
            pass
        finally:
            server.stop()


class Worker:
    """A worker of the pool, with all flows that it starts."""

    def __init__(self, place: Path, environment: Mapping[str, str]) -> None:
        """Start it; it waits for the server by itself."""
        self.log = place / "worker.log"
        mark = secrets.token_hex(8)
        words = ("-m", "prefect", "worker", "start", "--type", "process", "--pool", POOL)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *words, "--limit", str(AT_ONCE)],
                env={**environment, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._family = Family(leader=self._process.pid, mark=mark)
        self._guard = Guard(Orders(family=self._family, manner=_ORPHANED, cleanup=()))

    @property
    def ended_with(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def stop(self, say: Callable[[str], None]) -> None:
        """Ask its flows to wind down, wait for them, and end it.

        It is asked last: a worker that stops kills its flows.
        """
        until_s = time.monotonic() + WIND_DOWN_S
        asked: set[int] = set()
        while (flows := self._flows()) and time.monotonic() < until_s:
            if not asked:
                say("runs wind down: loads stop, machines are given back, reports are written")
            for pid in flows - asked:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            asked |= flows
            time.sleep(_LOOK_S)
        end(self._family, KILL, SystemClock())
        self._process.wait()
        self._guard.dismiss()

    def _flows(self) -> set[int]:
        """The processes of its flows, which are its children."""
        members = self._family.members()
        return {each.pid for each in members if parent_of(each.pid) == self._process.pid}


def _watch(
    server: PrefectServer, worker: Worker, place: Path, interruption: Interruption
) -> None:
    while True:
        interruption.check()
        for name, child, log in (
            ("Prefect's server", server, place / "server.log"),
            ("Prefect's worker", worker, worker.log),
        ):
            if child.ended_with is not None:
                raise InfrastructureError(
                    name,
                    f"it ended by itself with code {child.ended_with}",
                    f"Read {log}, and start it again: runoff up",
                )
        time.sleep(_LOOK_S)


def _password(environment: Mapping[str, str]) -> dict[str, str]:
    """What the server's clients send, where it asks for a password."""
    return {CLIENTS_PASSWORD: environment[PASSWORD]} if PASSWORD in environment else {}


def _refuse_taken(shown: Shown) -> None:
    family = socket.AF_INET6 if ":" in shown.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((shown.host, shown.port))
        except OSError as error:
            raise UsageError(
                f"--host {shown.host} --port {shown.port}",
                f"it cannot be listened on: {error.strerror}",
                "Name another port or address: --port, --host",
            ) from None


def _plain(up: Up) -> dict[str, Any]:
    return {"pid": up.pid, "api_url": up.api_url, "ui_url": up.ui_url}
