"""How many requests a cell needs: to warm up, to measure, and to hold the load to the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from flows.bench.probe import Survey
from flows.bench.spec import CellSpec
from flows.errors import UsageError
from flows.load.traces import TraceRow

_TAIL_S: Final = 30.0  # an answer may take that long where no limit says more
_LEAST_TAIL_S: Final = 5.0
_CLOSED_TAIL: Final = 3  # further requests per stream, which hold the load to the end
_LEAST_DRAIN: Final = 128  # as many as were measured hold the load, or at least these
_SPARE: Final = 1.25  # one request alone may have been that much slower than the fastest
_SIGMAS: Final = 6.0  # counts of a random process are drawn that far above their mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Requests by phase, in the order in which they fall due."""

    NAMES: ClassVar = ("warmup", "measured", "drain")

    warmup: int
    measured: int
    drain: int

    @property
    def total(self) -> int:
        """All requests that are drawn."""
        return self.warmup + self.measured + self.drain

    def phase(self, sequence: int) -> str:
        """The phase that the request at this place is planned for."""
        if sequence < self.warmup:
            return "warmup"
        return "measured" if sequence < self.warmup + self.measured else "drain"

    def held_to(self, available: int) -> Counts:
        """The same with as much drain as there is; too few for the rest is an error."""
        needed = self.warmup + self.measured
        if available < needed:
            raise UsageError(
                "--num-requests",
                f"the cell needs {needed} requests and the file holds {available} that this "
                "replication has not used",
                "Ask for fewer requests or replications, or give a longer file",
            )
        return replace(self, drain=min(self.drain, available - needed))


def counts_of(spec: CellSpec, survey: Survey, rows: Sequence[TraceRow]) -> Counts:
    """Requests to draw for a cell; where time is measured, more than can fall due in it."""
    warmup, duration_s = spec.amount.discarded(spec.load), spec.amount.duration_s
    asked = spec.amount.requests or len(rows)
    if duration_s is None and asked <= warmup:
        raise _nothing_to_measure(asked, warmup)
    if rows:
        measured = asked - warmup if duration_s is None else max(0, len(rows) - warmup)
        rest = len(rows) - warmup - measured
        drain = max(0, min(rest, max(measured, _LEAST_DRAIN)))
        return Counts(warmup=warmup, measured=measured, drain=drain)
    if not spec.load.is_open:
        streams = spec.load.concurrency or 0
        measured = asked - warmup
        if duration_s is not None:
            rounds = duration_s / max(survey.single_s or 0.0, 1e-3)
            measured = math.ceil(_SPARE * streams * (1 + rounds))
        return Counts(warmup=warmup, measured=measured, drain=_CLOSED_TAIL * streams)
    rate_per_s, burstiness = spec.load.rate_per_s or 0.0, spec.load.burstiness
    measured = asked - warmup
    if duration_s is not None:
        measured = _at_most(rate_per_s * duration_s, burstiness)
    # an overloaded server would otherwise get ever more of them
    drain = min(_at_most(rate_per_s * _tail_s(spec), burstiness), max(measured, _LEAST_DRAIN))
    return Counts(warmup=warmup, measured=measured, drain=drain)


def check_counts(spec: CellSpec) -> None:
    """Raise UsageError where the flags alone tell that nothing would be measured."""
    asked, warmup = spec.amount.requests, spec.amount.discarded(spec.load)
    if asked is not None and asked <= warmup:
        raise _nothing_to_measure(asked, warmup)


def _nothing_to_measure(asked: int, warmup: int) -> UsageError:
    return UsageError(
        "--num-requests",
        f"{asked} requests, of which {warmup} are warm-up, leave nothing to measure",
        "It counts the warm-up (of a closed loop the first wave at least): 250 with "
        "--warmup-requests 50 measures 200",
    )


def _tail_s(spec: CellSpec) -> float:
    """How long the last measured request may take while the load must not fall."""
    slo, output = spec.slo, spec.content.output
    if slo.ttft_ms is None or slo.itl_ms is None or output is None:
        return _TAIL_S
    within_limits_s = (slo.ttft_ms + slo.itl_ms * output.maximum) / 1e3
    return max(_LEAST_TAIL_S, 2 * within_limits_s)


def _at_most(mean: float, burstiness: float) -> int:
    return math.ceil(mean + _SIGMAS * math.sqrt(mean / min(burstiness, 1.0)))
