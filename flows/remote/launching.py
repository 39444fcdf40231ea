"""A planned server started on a host, and waited for from here through a tunnel."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from deploy_templates.plan import LaunchPlan
from flows.bench.endpoint import checked_endpoint
from flows.errors import LaunchError
from flows.launch.ask import Address
from flows.launch.clock import Clock, SystemClock
from flows.launch.ending import steps
from flows.launch.facts import LaunchFacts, Stopped
from flows.launch.install import Installed
from flows.launch.launched import Launched, Leader
from flows.launch.layout import ENVIRONMENT_NAME, LOG_NAME, environment_of, lay_out
from flows.launch.log import LogReader
from flows.launch.ports import Ownership
from flows.launch.running import Running
from flows.launch.seal import seal
from flows.launch.secrets import Secrets, secrets_of
from flows.launch.start import brought_up
from flows.launch.wait import Tell
from flows.launch.watch import LogWatch
from flows.load.plan import Endpoint, Tls
from flows.remote.clock import Offset
from flows.remote.host import RemoteHost
from flows.remote.job import LEASE_S, RemoteJob, begin
from flows.remote.job_folder import SERVER
from flows.remote.lost import HostLostError
from flows.remote.place import RemotePlace
from flows.remote.tunnel import Tunnel

_QUICK_LOOK_NS: Final = 100_000_000  # while it starts
_FETCH_S: Final = 600.0
_LOOK_NS: Final = 1_000_000_000  # afterwards: a question of a few bytes, also beside a load


@dataclass(slots=True)
class RemoteWatch(LogWatch):
    """Follows a log on a host: fetches what is new there, at most ten times a second."""

    job: RemoteJob | None = None
    fetched_ns: int = 0

    def look(self, now_ns: int) -> None:
        """Take what the log holds since the last look, unless that was just now."""
        if self.job is None or now_ns - self.fetched_ns < _QUICK_LOOK_NS:
            return
        self.fetched_ns = now_ns
        if not self.job.is_over:
            self.job.look()
        LogWatch.look(self, now_ns)

    def look_at_once(self, now_ns: int) -> None:
        """Fetch it now."""
        self.fetched_ns = 0
        self.look(now_ns)

    def look_last(self, now_ns: int) -> None:
        """Take all that is left, once the server has ended."""
        if self.job is not None:
            self.job.look_to_the_end()
        LogWatch.look_last(self, now_ns)


@dataclass(slots=True, kw_only=True)
class RemoteSession(Launched):
    """A launch on a host. The tunnel ends with it."""

    host: RemoteHost
    job: RemoteJob
    tunnel: Tunnel
    offset: Offset
    started_ns: int
    _looked_ns: int = 0

    @property
    def leader(self) -> Leader:
        """The first process there; its start as our clock shows it."""
        seen = self.job.seen
        return Leader(
            pid=seen["pid"],
            mark=seen["mark"],
            started_ns=self.started_ns,
            started_at=datetime.fromisoformat(seen["started_at"]),
        )

    def exit_code(self) -> int | None:
        """The code as the keeper wrote it down; asked for once a second at most.

        Raises
        ------
        LaunchError
            If the host cannot be asked, or the keeper is gone without a word.
        """
        now_ns = self.clock.monotonic_ns()
        looked_ns = max(self._looked_ns, getattr(self.watch, "fetched_ns", 0))
        if not self.job.is_over and now_ns - looked_ns >= _LOOK_NS:
            self._looked_ns = now_ns
            self.job.look()
        if self.job.stage == "ended":
            code: int = self.job.seen["exit_code"]
            return code
        if self.job.is_over:
            raise LaunchError(
                "keeper lost",
                self.where,
                f"the process beside it on {self.host.name} is gone; its guard ends the server",
                f"Look into {self.job.folder} there",
            )
        return None

    def death(self) -> LaunchError | None:
        """Why the server has ended, or why it can no longer be known; None while it lives."""
        try:
            return Launched.death(self)
        except LaunchError as error:
            return error
        except HostLostError as error:
            return LaunchError("host lost", self.where, error.seen, error.do)

    def memory_kills(self) -> int:
        """As the keeper counted them."""
        return int(self.job.seen.get("memory_kills", 0))

    def ownership(self) -> Ownership | None:
        """By the sockets of the job's processes, as the host's kernel lists them."""
        plan = self.plan
        found = self.host.ask(
            "owner",
            folder=self.job.folder,
            host=plan.host,
            port=plan.port,
            where=self.where,
            is_container=plan.mode == "container",
        )
        if found is None:
            return None
        return Ownership(
            how=found["how"],
            addresses=tuple(found["addresses"]),
            pids=tuple(found["pids"]),
            age_s=found["age_s"],
        )

    def require_guarded(self) -> None:
        """LaunchError if its keeper is gone."""
        self.job.look()
        if self.job.stage == "lost":
            self.exit_code()

    def processes(self) -> tuple[int, ...]:
        """Process ids on the host."""
        return tuple(self.host.ask("processes", folder=self.job.folder))

    def _end(self) -> Stopped:
        stop = self.plan.stop
        try:
            ended = self.job.end(steps(stop.signal, stop.grace_s, stop.second_signal))
            self.job.look_to_the_end()
            self._fetch_log()
        finally:
            self.tunnel.close()
        if ended["stage"] != "ended":
            raise LaunchError(
                "keeper lost", self.where, "nobody saw its end", f"Look into {self.job.folder}"
            )
        if ended["left"]:
            who = ", ".join(f"pid {pid} in state {state}" for pid, state in ended["left"])
            raise LaunchError(
                "would not go",
                self.where,
                f"after {', '.join(ended['signals'])} still there on {self.host.name}: {who}",
                "What SIGKILL does not end waits for a driver or a disk: restart the host",
            )
        return Stopped(
            exit_code=ended["exit_code"],
            signals=tuple(ended["signals"]),
            duration_ns=ended["duration_ns"],
            port_is_free=self._port_is_free(),
            log=self._put_away(),
            cleanup=ended["cleanup"],
        )

    def _log(self) -> str:
        return f"{self.job.log} on {self.host.name}"

    def _port_is_free(self) -> bool:
        where, plan = self.where, self.plan
        try:
            self.host.ask("port_is_free", host=plan.host, port=plan.port, where=where)
        except LaunchError:
            return False
        return True

    def _fetch_log(self) -> None:
        """The whole log, as it is there: what was followed is fetched anew where it differs."""
        mirror = self.folder / LOG_NAME
        mirror.touch()
        wanted = self.host.ask("sha256", path=self.job.log, limit_s=_FETCH_S)
        with mirror.open("rb") as file:
            seen = hashlib.file_digest(file, "sha256").hexdigest()
        if wanted is not None and wanted != seen:
            self.host.get(self.job.log, mirror)

    def _put_away(self) -> str:
        """The sealed log's path here; nothing of the launch is left on the host.

        Where the disk here does not take it, both stay as they are.
        """
        mirror = self.folder / LOG_NAME
        try:
            log = str(seal(mirror, self.secrets))
        except OSError:
            return str(mirror)
        self.host.ask("remove", folder=str(PurePosixPath(self.job.log).parent))
        self.job.forget()
        return log


class RemoteRunning(Running):
    """A server on a host; its ``url`` is that of a tunnel, for control and never for load."""

    def __init__(self, session: RemoteSession, facts: LaunchFacts, address: Address) -> None:
        super().__init__(session, facts, address)
        self._remote = session
        self._headers = address.headers

    def endpoint(self) -> Endpoint:
        """Where the server takes prompts, as this machine calls it, with its key."""
        path = self._remote.plan.readiness.completion_path
        return checked_endpoint(f"{self.url}{path}", self._headers, Tls())

    def place(self, cpus: Sequence[int] = ()) -> RemotePlace:
        """The host as the place of this server's load, held to these CPUs (none: all)."""
        session = self._remote
        plan = session.plan
        return RemotePlace(
            login=session.host.login,
            addresses={self.url: f"http://{plan.host}:{plan.port}"},
            server=session.job.folder,
            cpus=tuple(cpus),
        )


def remote_launch(
    host: RemoteHost,
    plan: LaunchPlan,
    folder: Path,
    *,
    name: str,
    environment: Mapping[str, str],
    secrets: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    progress: Tell = lambda _progress: None,
    limit_s: float | None = None,
    installed: Installed | None = None,
    headers: Mapping[str, str] | None = None,
    lease_s: float = LEASE_S,
) -> RemoteRunning:
    """Start the planned server on a host and wait until it has generated a token.

    Parameters
    ----------
    folder
        On this machine: takes ``plan.json``, ``launch.json`` and, after the end, the log.
    name
        The launch's name on the host; the same name is the same launch, started once.
    environment
        The caller's, for secrets only: what the server inherits is the host's.
    installed
        What ``remote_install`` has put there, for plans of mode ``venv``.
    lease_s
        How long the server outlives us where we die, or the connection does.

    Other parameters, and what is raised, are those of ``flows.launch.start.launch``; the
    running server's ``url`` is that of a tunnel on this machine, for control alone.
    """
    clock = clock or SystemClock()
    hidden = secrets_of(plan, environment) if secrets is None else Secrets(secrets)
    hidden.refuse_in(plan)
    where = f"launch of {plan.name!r}"
    host.ask("port_is_free", host=plan.host, port=plan.port, where=where)
    lay_out(plan, folder, None)
    (folder / LOG_NAME).unlink(missing_ok=True)
    session = _started(
        host,
        plan,
        folder,
        name,
        secrets=hidden,
        clock=clock,
        put=installed,
        lease_s=lease_s,
    )
    address = Address(host="127.0.0.1", port=session.tunnel.port, headers=headers or {})
    limit = plan.readiness.limit_s if limit_s is None else limit_s
    facts = brought_up(session, address, limit_s=limit, progress=progress)
    return RemoteRunning(session, facts, address)


def _started(
    host: RemoteHost,
    plan: LaunchPlan,
    folder: Path,
    name: str,
    *,
    secrets: Secrets,
    clock: Clock,
    put: Installed | None,
    lease_s: float,
) -> RemoteSession:
    equipped = host.equipped
    place = f"{equipped.root}/launches/{name}"
    working = f"{place}/{plan.working_directory}"
    links = {} if put is None else {ENVIRONMENT_NAME: str(put.environment)}
    host.ask("lay", folder=working, files=dict(plan.files), links=links)
    seen_env = environment_of(plan, equipped.environment, secrets)
    stop = plan.stop
    try:
        job = begin(
            host,
            f"{SERVER}{name}",
            plan.argv,
            cwd=working,
            env=seen_env,
            log=f"{place}/{LOG_NAME}",
            manner=steps(stop.signal, stop.grace_s, stop.second_signal),
            cleanup=plan.cleanup,
            mirror=folder / LOG_NAME,
            lease_s=lease_s,
            note={"kind": "server", "name": plan.name, "port": str(plan.port)},
        )
    except LaunchError:
        host.ask("remove", folder=place)
        raise
    try:
        (folder / LOG_NAME).touch(mode=0o600)
        offset = host.offset()
        started_ns = offset.here(job.seen["started_ns"])
        tunnel = host.tunnel(plan.host, plan.port)
    except BaseException:
        with suppress(HostLostError):
            job.end()
        raise
    watch = RemoteWatch(LogReader(folder / LOG_NAME), plan, started_ns, job=job)
    watch.blind_ns = offset.error_ns
    return RemoteSession(
        plan=plan,
        folder=folder,
        watch=watch,
        secrets=secrets,
        clock=clock,
        seen_env=seen_env,
        host=host,
        job=job,
        tunnel=tunnel,
        offset=offset,
        started_ns=started_ns,
    )
