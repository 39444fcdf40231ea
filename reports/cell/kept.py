"""Of each measured request whether it kept each limit: what claims over launches rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reports.cell.bunching import Bunching
from reports.cell.gaps import infinite_gaps_per_failure
from reports.cell.goodput import compliant
from reports.cell.latency import Latencies
from reports.cell.settings import ITL_STATISTICS, CellSettings, ItlStatistic
from reports.columns import NULL, Flags, Ints, Reals, RequestColumns
from reports.stats.ragged import sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Of each request how many of its trials kept the limit; a request is mostly one trial."""

    hits: Reals
    trials: Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Limits kept, request by request in the order in which they were due.

    ``ttft`` and ``itl`` are None without such a limit, ``itl`` and an entry of ``compliant``
    also where the statistic cannot be observed. Failures keep nothing.
    """

    ttft: Share | None
    itl: Share | None
    compliant: Mapping[ItlStatistic, Flags | None]


def kept(
    measured: RequestColumns, latency: Latencies, settings: CellSettings, seen: Bunching
) -> Kept:
    """Return which limits each measured request kept."""
    cell = _Cell(measured=measured, latency=latency, settings=settings, seen=seen)
    return Kept(
        ttft=cell.ttft(),
        itl=cell.itl(),
        compliant={statistic: cell.compliant(statistic) for statistic in ITL_STATISTICS},
    )


def is_unseen(seen: Bunching, statistic: ItlStatistic) -> bool:
    """Return whether chunks came so bunched that an ITL statistic cannot be observed."""
    return seen.hides_means if statistic == "tpot" else seen.hides_gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """The measured requests and what is known of them."""

    measured: RequestColumns
    latency: Latencies
    settings: CellSettings
    seen: Bunching

    def ttft(self) -> Share | None:
        slo = self.settings.slo
        if slo.ttft_ms is None:
            return None
        first_ms = self.latency.ttfa if slo.first == "answer" else self.latency.ttft
        return self._single(first_ms <= slo.ttft_ms)

    def itl(self) -> Share | None:
        slo, one_token = self.settings.slo, self.settings.output_tokens == 1
        if slo.itl_ms is None or (is_unseen(self.seen, slo.itl_statistic) and not one_token):
            return None
        if slo.itl_statistic == "p95_gap" and not one_token:
            return self._gaps(slo.itl_ms)
        itl_ms = self.latency.itl(slo.itl_statistic)
        return self._single((itl_ms <= slo.itl_ms) | (one_token & np.isnan(itl_ms)))

    def compliant(self, statistic: ItlStatistic) -> Flags | None:
        slo = self.settings.slo
        if slo.ttft_ms is None and slo.itl_ms is None:
            return None
        if slo.itl_ms is not None and is_unseen(self.seen, statistic):
            return None
        meets = compliant(self.measured, self.latency, self.settings, statistic)
        in_order: Flags = meets[self._due_order()]
        return in_order

    def _single(self, within: Flags) -> Share:
        meets = within & (self.measured.outcome == "ok")
        return Share(
            hits=meets[self._due_order()].astype(np.float64), trials=np.ones(len(meets))
        )

    def _gaps(self, limit_ms: float) -> Share:
        """Gaps within the limit of each request's; a failure owes as many as others have."""
        measured, order = self.measured, self._due_order()
        ok, owed = measured.outcome == "ok", infinite_gaps_per_failure(measured)
        within = sums(measured.gap_us <= np.float32(limit_ms * 1000), measured.gap_offsets)
        counts = np.diff(measured.gap_offsets).astype(np.float64)
        return Share(
            hits=np.where(ok, within, 0.0)[order], trials=np.where(ok, counts, owed)[order]
        )

    def _due_order(self) -> Ints:
        """Requests that were never due come last."""
        due_ns = self.measured.scheduled_ns
        last = np.iinfo(np.int64).max
        order: Ints = np.argsort(np.where(due_ns == NULL, last, due_ns), kind="stable")
        return order
