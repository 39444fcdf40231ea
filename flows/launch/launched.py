"""A server that was started, here or on another host, as those who wait for it see it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from deploy_templates.plan import LaunchPlan
from flows.bench.places import write_whole
from flows.errors import LaunchError
from flows.launch.clock import Clock
from flows.launch.exits import explained
from flows.launch.facts import Stopped
from flows.launch.layout import FACTS_NAME
from flows.launch.log import short
from flows.launch.ports import Ownership
from flows.launch.secrets import Secrets
from flows.launch.watch import LogWatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The server's first process on its host, its mark, and when it was started (our clock)."""

    pid: int
    mark: str
    started_ns: int
    started_at: datetime


@dataclass(slots=True, kw_only=True)
class Launched(ABC):
    """From the start of a process to the proof that nothing of it is left.

    ``seen_env`` is the server's own environment, ``folder`` the launch's on this machine.
    """

    plan: LaunchPlan
    folder: Path
    watch: LogWatch
    secrets: Secrets
    clock: Clock
    seen_env: Mapping[str, str]
    stopped: Stopped | None = None

    @property
    def where(self) -> str:
        """The launch, for complaints."""
        return f"launch of {self.plan.name!r}"

    @property
    @abstractmethod
    def leader(self) -> Leader:
        """The server's first process."""

    @abstractmethod
    def exit_code(self) -> int | None:
        """The leader's exit code, or minus the signal that ended it; None while it lives."""

    @abstractmethod
    def memory_kills(self) -> int:
        """Processes that the host's kernel has killed for want of memory since the start."""

    @abstractmethod
    def ownership(self) -> Ownership | None:
        """The proof that the port is this launch's; None while nobody listens.

        Raises
        ------
        LaunchError
            If a process that this launch has not started listens there.
        """

    @abstractmethod
    def require_guarded(self) -> None:
        """Return if the server would end should we die; LaunchError otherwise."""

    @abstractmethod
    def processes(self) -> tuple[int, ...]:
        """Process ids, on the host, of the server and all that it has started."""

    @abstractmethod
    def _end(self) -> Stopped:
        """End the server with all its processes, and put everything away."""

    @abstractmethod
    def _log(self) -> str:
        """Where the log is while the server runs."""

    def death(self) -> LaunchError | None:
        """Why the server has ended; None while it lives."""
        code = self.exit_code()
        if code is None:
            return None
        self.watch.look_last(self.clock.monotonic_ns())
        failure = self.failure()
        if failure is not None:
            return failure
        found = explained(code, self.memory_kills())
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

    def told(self, error: LaunchError) -> LaunchError:
        """The error without secrets, and with the place of the log."""
        log = self.stopped.log if self.stopped is not None else self._log()
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
            self.stopped = self._end()
        return self.stopped

    def record(self, state: str, **facts: Any) -> None:
        """Write what is known of the launch: its state, and whatever belongs to it."""
        document = {
            "state": state,
            "pid": self.leader.pid,
            "mark": self.leader.mark,
            "started_at": self.leader.started_at.isoformat(),
            **facts,
        }
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(self.folder / FACTS_NAME, self.secrets.mask(text))

    def _first_error(self, shown: str) -> str:
        """The log's first exception, unless it is in the line that is shown already."""
        first = self.watch.first_error
        return f"; the first error: {short(first)}" if first and first not in shown else ""
