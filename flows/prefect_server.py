"""Prefect's server as a process of ours, for those who run none.

The one that Prefect starts by itself shares the terminal's process group, so the first Ctrl-C
ends it in the middle of the teardown, and a killed client leaves it alone for ever. This one
has a session of its own and a guard that ends it when its starter is gone; where the guard was
killed too, the next start ends it. It reports nothing to anybody. Beside a campaign it listens
on loopback and runs only the services that record what a flow did, so that it rests while a
load is measured; a shown one has all services and the UI.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flows.bench.places import write_whole
from flows.errors import InfrastructureError
from flows.launch.clock import SystemClock
from flows.launch.ending import KILL, Step, end
from flows.launch.guard import Guard, Orders
from flows.launch.processes import Family, process_of

START_S: Final = 60.0  # the first start of all makes its database
QUIET: Final = {
    "DO_NOT_TRACK": "1",
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",  # a server that is slow or gone is no news
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
}
_LOOK_S: Final = 0.05
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback
_STOP: Final = (Step(signal="SIGTERM", patience_s=3.0), *KILL)
PASSWORD: Final = "PREFECT_SERVER_API_AUTH_STRING"  # noqa: S105 - a variable's name
_DATABASE: Final = (
    "PREFECT_API_DATABASE_CONNECTION_URL",
    "PREFECT_SERVER_DATABASE_CONNECTION_URL",
)
_RESTING: Final = (
    "CANCELLATION_CLEANUP",
    "CLEANUP_RECONCILER",
    "EVENT_LOGGER",
    "FOREMAN",
    "LATE_RUNS",
    "PAUSE_EXPIRATIONS",
    "SCHEDULER",
    "TRIGGERS",
)


def client_settings(home: Path, api_url: str) -> dict[str, str]:
    """Prefect's settings in the process that runs the flow."""
    return {
        **QUIET,
        "PREFECT_API_URL": api_url,
        "PREFECT_CLI_COLORS": "false",
        "PREFECT_HOME": str(home),
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Where a server listens that people and workers use."""

    host: str = "127.0.0.1"
    port: int = 4200


class PrefectServer:
    """A started server: its address once it is ready, and its end."""

    def __init__(
        self, home: Path, environment: Mapping[str, str], shown: Shown | None = None
    ) -> None:
        """Start it; ``home`` takes its database and its log. None: for one campaign alone."""
        home.mkdir(parents=True, exist_ok=True)
        end_orphans(home)
        place = shown or Shown(port=_free_port())
        self.url = f"http://{_reached(place.host)}:{place.port}/api"
        self._log = home / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                _command(place),
                env=_environment(home, environment, shown),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._record = home / f"server-{self._process.pid}.json"
        write_whole(self._record, json.dumps(_facts(self._process.pid)) + "\n")
        family = Family(leader=self._process.pid, mark="-")
        self._guard = Guard(Orders(family=family, manner=_STOP, cleanup=()))

    def wait(self, limit_s: float = START_S, look: Callable[[], None] = lambda: None) -> str:
        """The address of its API, once it answers; ``look`` may give up the wait.

        Raises
        ------
        InfrastructureError
            If it ends or does not answer in time.
        """
        until_s = time.monotonic() + limit_s
        while time.monotonic() < until_s:
            look()
            if self._process.poll() is not None:
                raise self._failure(f"ended with code {self._process.returncode}")
            if _answers(f"{self.url}/health"):
                return self.url
            time.sleep(_LOOK_S)
        raise self._failure(f"did not answer within {limit_s:g} s")

    def stop(self) -> None:
        """End it with all that it has started; nothing the second time."""
        end(Family(leader=self._process.pid, mark="-"), _STOP, SystemClock())
        self._process.wait()
        self._guard.dismiss()
        self._record.unlink(missing_ok=True)

    @property
    def ended_with(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def _failure(self, seen: str) -> InfrastructureError:
        self.stop()
        return InfrastructureError(
            "Prefect's server",
            f"it {seen}",
            f"Read {self._log}, or name a server of yours: PREFECT_API_URL",
        )


def end_orphans(home: Path) -> tuple[int, ...]:
    """End servers whose starter has died; their process ids."""
    ended = []
    for record in sorted(home.glob("server-*.json")):
        facts = _read(record)
        if facts is None or _is_same(facts.get("owner")):
            continue
        server = facts.get("server")
        if server is not None and _is_same(server):
            end(Family(leader=server["pid"], mark="-"), _STOP, SystemClock())
            ended.append(server["pid"])
        record.unlink(missing_ok=True)
    return tuple(ended)


def _command(place: Shown) -> list[str]:
    found = importlib.util.find_spec("prefect")  # not imported: it takes a second
    folder = Path(found.origin).parent if found is not None and found.origin else Path()
    return [
        *(sys.executable, "-P", "-m", "uvicorn", "--app-dir", str(folder), "--factory"),
        *(
            "prefect.server.api.server:create_app",
            "--host",
            place.host,
            "--port",
            str(place.port),
        ),
        *("--log-level", "error", "--lifespan", "on"),
    ]


def _environment(
    home: Path, environment: Mapping[str, str], shown: Shown | None
) -> dict[str, str]:
    plain = {name: text for name, text in environment.items() if name[:8] != "PREFECT_"}
    common = {
        **plain,
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(home),
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }
    if shown is not None:
        return {
            **common,
            **_own_settings(environment),
            "PREFECT_SERVER_API_HOST": shown.host,
            "PREFECT_SERVER_API_PORT": str(shown.port),
            "PREFECT_UI_STATIC_DIRECTORY": str(home / "ui"),
        }
    return {
        **common,
        "PREFECT_UI_ENABLED": "false",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _RESTING},
    }


def _own_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The database and the password that the user states for a server that is kept, if any."""
    return {name: environment[name] for name in (*_DATABASE, PASSWORD) if name in environment}


def _reached(host: str) -> str:
    """The address, as an URL has it, at which a server on ``host`` is reached from here."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - asked for
        return "127.0.0.1" if host != "::" else "[::1]"
    return f"[{host}]" if ":" in host else host


def _facts(pid: int) -> dict[str, dict[str, int]]:
    return {"owner": _identity(os.getpid()), "server": _identity(pid)}


def _identity(pid: int) -> dict[str, int]:
    process = process_of(pid)
    return {"pid": pid, "started_ticks": process.started_ticks if process is not None else 0}


def _is_same(identity: Any) -> bool:
    """Whether the very process that was written down still lives."""
    match identity:
        case {"pid": int(pid), "started_ticks": int(started)}:
            process = process_of(pid)
            return process is not None and process.started_ticks == started
    return False


def _read(record: Path) -> dict[str, Any] | None:
    try:
        facts = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    with suppress(OSError), _DIRECT.open(url, timeout=5.0) as answer:
        return bool(answer.status == 200)
    return False
