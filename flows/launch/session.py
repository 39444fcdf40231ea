"""One server started on this machine with all that belongs to it: processes, guard, log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from deploy_templates.plan import LaunchPlan
from flows.errors import LaunchError
from flows.launch.child import Child
from flows.launch.ending import KILL, Ended, end, steps
from flows.launch.facts import Stopped
from flows.launch.guard import Guard, Orders, run_cleanup
from flows.launch.launched import Launched, Leader
from flows.launch.ports import Ownership, listeners, published, require_ours
from flows.launch.processes import Family, described, killed_for_memory
from flows.launch.seal import seal

_PORT_S: Final = 5.0  # a container engine closes its port a moment after the container
_LOOK_S: Final = 0.05


@dataclass(slots=True, kw_only=True)
class Session(Launched):
    """A launch on this machine.

    ``env`` is the environment without secrets, for what runs beside the server.
    """

    child: Child
    env: Mapping[str, str]
    guard: Guard
    kills_before: int | None = field(default_factory=killed_for_memory)

    @property
    def leader(self) -> Leader:
        """The started child."""
        child = self.child
        return Leader(
            pid=child.pid,
            mark=child.family.mark,
            started_ns=child.started_ns,
            started_at=child.started_at,
        )

    def exit_code(self) -> int | None:
        """The child's; it stays unreaped."""
        return self.child.exit_code()

    def memory_kills(self) -> int:
        """By this kernel's counter; 0 where it has none."""
        now = killed_for_memory()
        return 0 if now is None or self.kills_before is None else now - self.kills_before

    def ownership(self) -> Ownership | None:
        """By the sockets of our processes; a container's by its engine."""
        plan = self.plan
        if plan.mode == "container":
            return published(plan.host, plan.port)
        return require_ours(plan.host, plan.port, self.child.family, self.where)

    def require_guarded(self) -> None:
        """LaunchError if the guard has ended itself."""
        if not self.guard.is_on_duty():
            raise LaunchError(
                "no guard",
                self.where,
                "the process that would end the server if runoff died has ended itself",
                "Start runoff where its Python can import it: python -P -m flows.launch.guard",
            )

    def processes(self) -> tuple[int, ...]:
        """By group, session and mark."""
        return tuple(each.pid for each in self.child.family.members())

    def _end(self) -> Stopped:
        stop = self.plan.stop
        manner = steps(stop.signal, stop.grace_s, stop.second_signal)
        try:
            ended = end(self.child.family, manner, self.clock)
        except BaseException:
            self.stopped = self._closed(end(self.child.family, KILL, self.clock))
            raise
        return self._closed(ended)

    def _log(self) -> str:
        return str(self.child.log)

    def _closed(self, ended: Ended) -> Stopped:
        """Everything put away after the last process has gone."""
        if ended.left:
            raise self._would_not_go(ended)
        code = self.child.reap()
        cleanup = run_cleanup(self.plan.cleanup, self.env)
        self.guard.dismiss()
        return Stopped(
            exit_code=code,
            signals=ended.signals,
            duration_ns=ended.duration_ns,
            port_is_free=self._port_becomes_free(),
            log=self._sealed(),
            cleanup=cleanup,
        )

    def _would_not_go(self, ended: Ended) -> LaunchError:
        who = ", ".join(f"{described(each.pid)} in state {each.state}" for each in ended.left)
        return LaunchError(
            "would not go",
            self.where,
            f"after {', '.join(ended.signals)} still there: {who}",
            "What SIGKILL does not end waits for a driver or a disk: restart the host",
        )

    def _sealed(self) -> str:
        """The sealed log's path; where the disk does not take it, that of the log as it was."""
        try:
            return str(seal(self.child.log, self.secrets))
        except OSError:
            return str(self.child.log)

    def _port_becomes_free(self) -> bool:
        until_ns = self.clock.monotonic_ns() + round(_PORT_S * 1e9)
        while listeners(self.plan.host, self.plan.port):
            if not self.plan.cleanup or self.clock.monotonic_ns() > until_ns:
                return False
            self.clock.sleep(_LOOK_S)
        return True


def orders_of(plan: LaunchPlan, family: Family) -> Orders:
    """What the guard has to do if we die."""
    manner = steps(plan.stop.signal, plan.stop.grace_s, plan.stop.second_signal)
    return Orders(family=family, manner=manner, cleanup=plan.cleanup)
