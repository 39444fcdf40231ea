"""A host that is asked questions: connected when first asked, and again when that is lost."""

from __future__ import annotations

import json
import secrets
import shlex
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from flows import errors
from flows.errors import InfrastructureError, LaunchError, RunoffError
from flows.remote.clock import Offset, offset_of
from flows.remote.kit import HostPython, digest, kit_for
from flows.remote.login import Login
from flows.remote.lost import HostLostError
from flows.remote.tunnel import Tunnel
from flows.ssh import Connection, Pipe, connect

PYTHONS: Final = ("python3.13", "python3.12", "python3.11", "python3")
ANSWER_S: Final = 60.0
PATIENCE_S: Final = 120.0  # for a lost connection; jobs on the host go on meanwhile
_RENEW_S: Final = 30.0
_LONGEST_PAUSE_S: Final = 2.0
_PASSED: Final = ("HOME", "LANG", "LOGNAME", "PATH", "RUNOFF_LOCKS", "TMPDIR", "USER")
_PROBE: Final = """
root="${RUNOFF_REMOTE:-$HOME/.cache/runoff}"
mkdir -p "$root/kits" "$root/jobs" && chmod 700 "$root" "$root/jobs" || exit 9
printf '%s\\n' "$root"
for name in NAMES; do
  found=$(command -v "$name") || continue
  "$found" -c '
import importlib.util, json, platform, sys, sysconfig
if sys.version_info < (3, 11):
    sys.stderr.write(sys.argv[1] + " is " + platform.python_version() + "; ")
    sys.exit(3)
parser = None
if importlib.util.find_spec("httptools"):
    import importlib.metadata
    parser = importlib.metadata.version("httptools")
print(json.dumps({"path": sys.executable, "version": sys.version_info[:2],
                  "tag": sysconfig.get_config_var("SOABI") or "?",
                  "machine": platform.machine(), "parser": parser}))
' "$name" && exit 0
done
exit 4
"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipped:
    """What a host has for us: its Python, the kit's folder, the folder of all that is ours."""

    python: str
    kit: str
    root: str
    environment: Mapping[str, str]

    def program(self, module: str, *words: str) -> tuple[str, ...]:
        """Words that start a module of the kit."""
        return (self.python, "-P", "-s", "-m", module, *words)

    @property
    def own_environment(self) -> dict[str, str]:
        """The environment of the kit's programs, which load this host's own servers only."""
        passed = {k: self.environment[k] for k in _PASSED if k in self.environment}
        return {
            **passed,
            "PYTHONPATH": self.kit,
            "PYTHONDONTWRITEBYTECODE": "1",
            "RUNOFF_LOOPBACK_ONLY": "1",
        }


class RemoteHost:
    """One host over SSH; several threads may ask, one after the other.

    Every question may be asked twice, so a lost answer is asked for again over a new
    connection for ``patience_s``; a first connection that fails is told at once, unless the
    host ``was_there`` for another process of ours just before.
    """

    def __init__(
        self,
        login: Login,
        *,
        python: str | None = None,
        patience_s: float = PATIENCE_S,
        connected: Callable[[Login], Connection] = connect,
        was_there: bool = False,
    ) -> None:
        self.login = login
        self._was_there = was_there
        self._pythons = PYTHONS if python is None else (python,)
        self._patience_s = patience_s
        self._connected = connected
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._agent: Pipe | None = None
        self._equipped: Equipped | None = None
        self._kept: set[str] = set()
        self._is_over = threading.Event()
        self._renewer: threading.Thread | None = None

    @property
    def name(self) -> str:
        """The host as the user calls it."""
        return self.login.name

    @property
    def where(self) -> str:
        """The host, for complaints."""
        return f"host {self.name!r}"

    @property
    def equipped(self) -> Equipped:
        """What is there for us; put there when first asked for."""
        with self._lock:
            self._retried(self._asked_agent)
            if self._equipped is None:
                raise InfrastructureError(self.where, "it is not equipped", "")
            return self._equipped

    def ask(self, op: str, *, limit_s: float = ANSWER_S, **args: Any) -> Any:
        """The agent's answer to a question.

        Raises
        ------
        RunoffError
            As it was raised there.
        HostLostError
            If it cannot be asked any more.
        """
        question = json.dumps({"op": op, "args": args}).encode()

        def exchange() -> Any:
            agent = self._asked_agent()
            agent.send(question, limit_s)
            return json.loads(agent.line(limit_s))

        with self._lock:
            answer = self._retried(exchange)
        if "error" in answer:
            raise _as_raised(answer["error"], self.where)
        return answer["value"]

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> str:
        """A file copied there, whole or not at all; its SHA-256."""
        return self._transferred(lambda link: link.put(source, target, mode=mode))

    def get(self, source: str, target: Path) -> str:
        """A file copied from there, whole or not at all; its SHA-256."""
        return self._transferred(lambda link: link.get(source, target))

    def tunnel(self, host: str, port: int) -> Tunnel:
        """A port of ours that leads to one of the host's, over whatever connection there is."""
        return Tunnel(lambda: self._link_now().channel_to(host, port))

    def offset(self) -> Offset:
        """How far the host's monotonic clock is ahead of ours."""
        self.ask("clock")
        return offset_of(lambda: int(self.ask("clock")), time.monotonic_ns)

    def keep(self, folder: str) -> None:
        """Renew a job's lease from now on, as long as we live."""
        self._kept.add(folder)
        with self._lock:
            if self._renewer is None:
                self._renewer = threading.Thread(
                    target=self._renew, name=f"leases of {self.name}", daemon=True
                )
                self._renewer.start()

    def let_go(self, folder: str) -> None:
        """Renew that lease no more."""
        self._kept.discard(folder)

    def close(self) -> None:
        """End the connection; what runs on the host goes on until its lease ends."""
        self._is_over.set()
        if self._renewer is not None:
            self._renewer.join()
        with self._lock:
            self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _transferred(self, act: Callable[[Connection], T]) -> T:
        """The same for what takes long: questions are asked beside it, and leases renewed."""
        until_s = time.monotonic() + self._patience_s
        while True:
            with self._lock:
                link = self._retried(self._link)
            try:
                return act(link)
            except HostLostError:
                link.close()
                if self._is_over.is_set() or time.monotonic() > until_s:
                    raise

    def _retried(self, act: Callable[[], T]) -> T:
        """Done over a live connection, anew for as long as our patience lasts."""
        until_s, pause_s = time.monotonic() + self._patience_s, 0.1
        while True:
            try:
                return act()
            except HostLostError:
                was_there = self._was_there or self._equipped is not None
                self._drop()
                if not was_there or self._is_over.is_set() or time.monotonic() > until_s:
                    raise
            self._is_over.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _drop(self) -> None:
        agent, self._agent = self._agent, None
        connection, self._connection = self._connection, None
        if agent is not None:
            agent.close()
        if connection is not None:
            connection.close()

    def _link(self) -> Connection:
        if self._connection is None or not self._connection.is_alive:
            self._drop()
            self._connection = self._connected(self.login)
        return self._connection

    def _link_now(self) -> Connection:
        """The connection that there is; for tunnels, which must not wait for a new one."""
        connection = self._connection
        if connection is None or not connection.is_alive:
            raise HostLostError(self.where, "the connection is lost for now", "")
        return connection

    def _asked_agent(self) -> Pipe:
        connection = self._link()
        if self._agent is None:
            equipped = self._equipped or self._equip(connection)
            self._agent = self._begun(connection, equipped)
            if self._equipped is None:
                self._equipped = self._introduced(equipped)
        return self._agent

    def _begun(self, connection: Connection, equipped: Equipped) -> Pipe:
        """The agent, listening; what the login shell says before is passed over."""
        word = secrets.token_hex(8)
        names = f"PYTHONPATH={shlex.quote(equipped.kit)} PYTHONDONTWRITEBYTECODE=1"
        program = shlex.join(equipped.program("flows.remote.agent", word))
        log = shlex.quote(f"{equipped.root}/agent.log")
        agent = connection.pipe(f"{names} /bin/sh -c {shlex.quote(f'exec {program} 2>>{log}')}")
        while agent.line(ANSWER_S) != word.encode():
            pass
        return agent

    def _introduced(self, equipped: Equipped) -> Equipped:
        agent = self._agent
        if agent is None:
            raise HostLostError(self.where, "its agent is gone", "")
        agent.send(json.dumps({"op": "hello", "args": {}}).encode(), ANSWER_S)
        answer = json.loads(agent.line(ANSWER_S))
        if "error" in answer:
            raise _as_raised(answer["error"], self.where)
        environment = answer["value"]["environment"]
        environment.pop("PYTHONPATH", None)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return Equipped(
            python=equipped.python,
            kit=equipped.kit,
            root=equipped.root,
            environment=environment,
        )

    def _equip(self, connection: Connection) -> Equipped:
        """Python found, and the kit put beside it unless it is there."""
        done = connection.run(_PROBE.replace("NAMES", " ".join(self._pythons)))
        root, _, found = done.text.partition("\n")
        if done.code != 0:
            raise self._unfit(done.code, done.last_words)
        described = json.loads(found)
        python = HostPython(**{**described, "version": tuple(described["version"])})
        kit = kit_for(python)
        folder = f"{root}/kits/{digest(kit)}"
        there = f"test -f {shlex.quote(folder)}/flows/remote/agent.py"
        if connection.run(there).code != 0:
            self._unpack(connection, kit, folder, python.path)
        return Equipped(python=python.path, kit=folder, root=root, environment={})

    def _unpack(self, connection: Connection, kit: bytes, folder: str, python: str) -> None:
        with tempfile.TemporaryDirectory(prefix="runoff-kit-") as here:
            packed = Path(here, "kit.zip")
            packed.write_bytes(kit)
            connection.put(packed, f"{folder}.zip")
        aside = shlex.quote(f"{folder}.{secrets.token_hex(4)}")
        place, archive = shlex.quote(folder), shlex.quote(f"{folder}.zip")
        done = connection.run(
            f"{shlex.quote(python)} -m zipfile -e {archive} {aside} && rm -f {archive}\n"
            f"mv -T {aside} {place} 2>/dev/null || test -d {place} || exit 9\n"
            f"rm -rf {aside}"
        )
        if done.code != 0:
            raise InfrastructureError(
                self.where,
                f"the kit cannot be unpacked there: {done.last_words}",
                "Look at the host's free space",
            )

    def _unfit(self, code: int, said: str) -> InfrastructureError:
        if code == 4:
            older = said.rstrip("; ") if said != "it said nothing" else "none of them is there"
            return InfrastructureError(
                self.where,
                f"it has no Python of 3.11 or newer by the names "
                f"{', '.join(self._pythons)} ({older})",
                "Install one there, as in apt-get install python3.11",
            )
        return InfrastructureError(
            self.where,
            f"its cache folder cannot be made: {said}",
            "Name another by RUNOFF_REMOTE in the host's environment",
        )

    def _renew(self) -> None:
        while not self._is_over.wait(_RENEW_S):
            if self._kept:
                try:
                    self.ask("leases", folders=sorted(self._kept))
                except RunoffError:
                    continue  # whoever uses the job hears of it, and more closely


def _as_raised(error: Mapping[str, Any], where: str) -> RunoffError:
    place = f"{where}, {error['where']}"
    if error["kind"] is not None:
        return LaunchError(error["kind"], place, error["seen"], error["do"])
    kind: type[RunoffError] = getattr(errors, error["type"], InfrastructureError)
    return kind(place, error["seen"], error["do"])
