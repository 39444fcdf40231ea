"""What the log says while a server starts: how far it is, what it reports, whether it fails."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from deploy_templates.plan import Failure, LaunchPlan
from flows.launch.log import LogReader
from flows.launch.phases import FIRST_TOKEN

# An exception's own line, behind whatever a logger puts in front of it.
_ERROR: Final = re.compile(r"(?:^|[\s\]])(?:\w+\.)*[A-Z]\w*(?:Error|Exception): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSeen:
    """A known line that says why a start fails."""

    failure: Failure
    line: str


@dataclass(slots=True)
class LogWatch:
    """Follows one server's log.

    ``seen_ns`` are the times at which lines that end phases were first seen, ``reported`` the
    values that the log gives for patterns of the plan's report, and ``blind_ns`` the longest
    time between two looks: no phase is known more closely. ``first_error`` is the first line
    with an exception: engines repeat it in other words until the last one says little.
    """

    reader: LogReader
    plan: LaunchPlan
    started_ns: int
    seen_ns: dict[str, int] = field(default_factory=dict)
    reported: dict[str, str] = field(default_factory=dict)
    failure: FailureSeen | None = None
    first_error: str | None = None
    blind_ns: int = 0
    _looked_ns: int = 0

    def look(self, now_ns: int) -> None:
        """Take what the log holds since the last look."""
        self.blind_ns = max(self.blind_ns, now_ns - (self._looked_ns or self.started_ns))
        self._looked_ns = now_ns
        self._take(self.reader.lines(), now_ns)

    def look_at_once(self, now_ns: int) -> None:
        """The same, however lately it was looked at."""
        self.look(now_ns)

    def look_last(self, now_ns: int) -> None:
        """Take all that is left, once the server has ended."""
        self._take(self.reader.rest(), now_ns)

    @property
    def stage(self) -> str:
        """The phase that is under way."""
        after = [phase.name for phase in self.plan.phases]
        while after and any(name in self.seen_ns for name in after):
            after.pop(0)
        return after[0] if after else FIRST_TOKEN

    def _take(self, lines: Iterable[str], now_ns: int) -> None:
        for line in lines:
            for phase in self.plan.phases:
                if phase.name not in self.seen_ns and re.search(phase.pattern, line):
                    self.seen_ns[phase.name] = now_ns
            for pattern in self._patterns():
                found = re.search(pattern, line)
                if found is not None:
                    self.reported[pattern] = found[1] if found.re.groups else found[0]
            if self.failure is None:
                self.failure = failure_in(line, self.plan.failures)
            if self.first_error is None and _ERROR.search(line):
                self.first_error = line.strip()

    def _patterns(self) -> Iterable[str]:
        """Patterns of the report that the log has not answered yet."""
        readings = (self.plan.report.version, *self.plan.report.settings)
        logged = (each for each in readings if each is not None and each.dialect == "log")
        return [each.key for each in logged if each.key not in self.reported]


def failure_in(line: str, failures: Iterable[Failure]) -> FailureSeen | None:
    """The first of the known failures that this line tells of."""
    for failure in failures:
        if re.search(failure.pattern, line):
            return FailureSeen(failure=failure, line=line.strip())
    return None
