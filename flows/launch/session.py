"""One started server with all that belongs to it: processes, guard, log, folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.bench.places import write_whole
from flows.errors import LaunchError
from flows.launch.child import Child
from flows.launch.clock import Clock
from flows.launch.ending import KILL, Ended, end, steps
from flows.launch.exits import explained
from flows.launch.facts import Stopped
from flows.launch.guard import Guard, Orders, run_cleanup
from flows.launch.layout import FACTS_NAME
from flows.launch.log import short
from flows.launch.ports import listeners
from flows.launch.processes import Family, described, killed_for_memory
from flows.launch.seal import seal
from flows.launch.secrets import Secrets
from flows.launch.watch import LogWatch

_PORT_S: Final = 5.0  # a container engine closes its port a moment after the container
_LOOK_S: Final = 0.05


@dataclass(slots=True, kw_only=True)
class Session:
    """From the start of a process to the proof that nothing of it is left.

    ``env`` is the environment without secrets, for what runs beside the server; ``seen_env``
    is the server's own.
    """

    plan: LaunchPlan
    folder: Path
    child: Child
    watch: LogWatch
    secrets: Secrets
    clock: Clock
    env: Mapping[str, str]
    seen_env: Mapping[str, str]
    guard: Guard
    memory_kills: int | None = field(default_factory=killed_for_memory)
    stopped: Stopped | None = None

    @property
    def where(self) -> str:
        """The launch, for complaints."""
        return f"launch of {self.plan.name!r}"

    def death(self) -> LaunchError | None:
        """Why the server has ended; None while it lives."""
        code = self.child.exit_code()
        if code is None:
            return None
        self.watch.look_last(self.clock.monotonic_ns())
        failure = self.failure()
        if failure is not None:
            return failure
        found = explained(code, self._memory_kills())
        last = self.watch.reader.last_line
        seen = f"{found.sentence}; its last line: {short(last)}{self._first_error(last)}"
        return LaunchError(found.kind, self.where, seen, found.do)

    def failure(self) -> LaunchError | None:
        """The known failure that the log tells of."""
        found = self.watch.failure
        if found is None:
            return None
        failure, line = found.failure, found.line
        seen = f"{failure.means} ({short(line)}){self._first_error(line)}"
        return LaunchError(failure.error, self.where, seen, failure.do)

    def _first_error(self, shown: str) -> str:
        """The log's first exception, unless it is in the line that is shown already."""
        first = self.watch.first_error
        return f"; the first error: {short(first)}" if first and first not in shown else ""

    def told(self, error: LaunchError) -> LaunchError:
        """The error without secrets, and with the place of the log."""
        log = self.stopped.log if self.stopped is not None else str(self.child.log)
        do = f"{error.do.rstrip('.')}. Its log is {log}"
        return LaunchError(error.kind, error.where, self.secrets.mask(error.seen), do)

    def end(self) -> Stopped:
        """End the server with all its processes; the second time only says how it was.

        Raises
        ------
        LaunchError
            If a process is still there after SIGKILL.
        """
        if self.stopped is None:
            stop = self.plan.stop
            manner = steps(stop.signal, stop.grace_s, stop.second_signal)
            try:
                ended = end(self.child.family, manner, self.clock)
            except BaseException:
                self.stopped = self._closed(end(self.child.family, KILL, self.clock))
                raise
            self.stopped = self._closed(ended)
        return self.stopped

    def record(self, state: str, **facts: Any) -> None:
        """Write what is known of the launch: its state, and whatever belongs to it."""
        document = {
            "state": state,
            "pid": self.child.pid,
            "mark": self.child.family.mark,
            "started_at": self.child.started_at.isoformat(),
            **facts,
        }
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(self.folder / FACTS_NAME, self.secrets.mask(text))

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

    def _memory_kills(self) -> int:
        now = killed_for_memory()
        return 0 if now is None or self.memory_kills is None else now - self.memory_kills


def orders_of(plan: LaunchPlan, family: Family) -> Orders:
    """What the guard has to do if we die."""
    manner = steps(plan.stop.signal, plan.stop.grace_s, plan.stop.second_signal)
    return Orders(family=family, manner=manner, cleanup=plan.cleanup)
