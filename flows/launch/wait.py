"""The wait for a server: its log, its life and its answers, looked at in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from flows.errors import LaunchError
from flows.launch.ask import Address, fetched
from flows.launch.facts import LaunchFacts
from flows.launch.launched import Launched
from flows.launch.log import short
from flows.launch.phases import phase_times
from flows.launch.ports import Ownership
from flows.launch.readback import read_back
from flows.launch.ready import Probe, Ready

_LOOK_S: Final = 0.02
_REPORT_S: Final = 10.0
_TELL_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a start is: the phase under way, what the last question met, the log's end."""

    stage: str
    seen: str
    line: str
    elapsed_s: float
    limit_s: float


Tell = Callable[[Progress], None]


@dataclass(slots=True, kw_only=True)
class Start:
    """The wait for one server."""

    session: Launched
    address: Address
    limit_s: float
    tell: Tell
    _told: tuple[str, str] = ("", "")
    _told_ns: int = 0

    def facts(self) -> LaunchFacts:
        """What the server has shown once it is ready."""
        session = self.session
        probe = Probe(
            session.plan,
            self.address,
            session.ownership,
            session.leader.started_ns,
        )
        try:
            ready = self._wait(probe)
        finally:
            probe.close()
        ready_ns = session.clock.monotonic_ns()
        session.watch.look_at_once(ready_ns)
        ownership = session.ownership()
        if ownership is None:
            raise self._not_ready(probe)
        session.require_guarded()
        return self._shown(ready, ready_ns, ownership)

    def _wait(self, probe: Probe) -> Ready:
        session = self.session
        while True:
            now_ns = session.clock.monotonic_ns()
            session.watch.look(now_ns)
            error = session.failure() or session.death()
            if error is not None:
                raise error
            ready = probe.look(now_ns)
            if ready is not None:
                return ready
            self._progress(probe, now_ns)
            if now_ns - session.leader.started_ns > self.limit_s * 1e9:
                raise self._not_ready(probe)
            probe.pause(session.clock, _LOOK_S)

    def _progress(self, probe: Probe, now_ns: int) -> None:
        """Tell of each change at once, and of none each second."""
        now = (self.session.watch.stage, probe.seen)
        if now == self._told and now_ns - self._told_ns < _TELL_NS:
            return
        self._told, self._told_ns = now, now_ns
        mask = self.session.secrets.mask
        self.tell(
            Progress(
                stage=now[0],
                seen=mask(now[1]),
                line=mask(short(self.session.watch.reader.last_line)),
                elapsed_s=(now_ns - self.session.leader.started_ns) / 1e9,
                limit_s=self.limit_s,
            )
        )

    def _not_ready(self, probe: Probe) -> LaunchError:
        watch = self.session.watch
        return LaunchError(
            "not ready",
            self.session.where,
            f"not ready within {self.limit_s:g} s: {probe.seen}; phase {watch.stage!r}; the "
            f"log's last line: {short(watch.reader.last_line)}",
            "Give it more time if it was still loading",
        )

    def _shown(self, ready: Ready, ready_ns: int, ownership: Ownership) -> LaunchFacts:
        plan, leader, watch = self.session.plan, self.session.leader, self.session.watch
        return LaunchFacts(
            name=plan.name,
            runtime=plan.runtime,
            version=plan.version,
            form=plan.form,
            simulation=plan.simulation,
            fingerprint=plan.fingerprint,
            argv=plan.argv,
            environment=self.session.secrets.shown(self.session.seen_env),
            mark=leader.mark,
            pid=leader.pid,
            started_at=leader.started_at.isoformat(),
            host=plan.host,
            port=plan.port,
            served_model=plan.served_model,
            models=ready.models,
            first_token=ready.first_token,
            start_ns=ready_ns - leader.started_ns,
            resolution_ns=watch.blind_ns,
            phases=phase_times(plan.phases, watch.seen_ns, leader.started_ns, ready_ns),
            read_back=read_back(
                plan, lambda path: fetched(self.address, path, _REPORT_S), watch.reported
            ),
            ownership=ownership,
            threats=plan.threats,
        )
