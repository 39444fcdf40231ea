"""Percentiles of a latency over requests: of the successful ones, and with the failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from reports.cell.bunching import Bunching
from reports.cell.gaps import infinite_gaps_per_failure
from reports.cell.latency import Latencies
from reports.columns import Flags, Flat, Reals, RequestColumns
from reports.stats.quantiles import Bounds, percentile_bounds, percentiles

PERCENTS: Final = (50, 90, 95, 99)
_BOUNDED: Final = (95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Mean and percentiles in milliseconds; None where unknown or beyond the failures."""

    count: int
    mean: float | None
    percentiles: Mapping[int, float | None]
    bounds: Mapping[int, Bounds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One latency over the successful requests, and over all with failures as infinite."""

    ok: Distribution
    with_failures: Distribution


def distribution(values_ms: Reals | Flat, infinite: int = 0) -> Distribution:
    """Return mean and percentiles by nearest rank, `infinite` failures above all values."""
    has_mean = len(values_ms) > 0 and not infinite
    return Distribution(
        count=len(values_ms) + infinite,
        mean=float(values_ms.mean(dtype=np.float64)) if has_mean else None,
        percentiles=dict(
            zip(PERCENTS, percentiles(values_ms, PERCENTS, infinite), strict=True)
        ),
        bounds={
            percent: percentile_bounds(values_ms, percent, infinite) for percent in _BOUNDED
        },
    )


def measures(
    measured: RequestColumns, latency: Latencies, seen: Bunching
) -> Mapping[str, Measure]:
    """Return the cell's latencies by name; those that cannot be observed are empty."""
    ok: Flags = measured.outcome == "ok"
    found = {
        name: _measure(getattr(latency, name), ok)
        for name in ("ttft", "service_ttft", "ttfa", "tpot", "e2e", "client_queue")
    }
    found["itl"] = _itl(measured, ok)
    empty = distribution(np.empty(0))
    unseen = Measure(ok=empty, with_failures=empty)
    if seen.hides_gaps:
        found["itl"] = unseen
    if seen.hides_means:
        found["tpot"] = unseen
    return found


def _measure(values_ms: Reals, ok: Flags) -> Measure:
    defined = values_ms[ok & np.isfinite(values_ms)]
    failures = int((~ok).sum())
    of_ok = distribution(defined)
    return Measure(
        ok=of_ok, with_failures=distribution(defined, failures) if failures else of_ok
    )


def _itl(measured: RequestColumns, ok: Flags) -> Measure:
    """All gaps of the cell; their limits are the clause's matter, as gaps come in clusters."""
    gap_us = measured.where(ok).gap_us
    infinite = infinite_gaps_per_failure(measured) * int((~ok).sum())
    of_ok = _in_ms(gap_us, 0)
    return Measure(ok=of_ok, with_failures=_in_ms(gap_us, infinite) if infinite else of_ok)


def _in_ms(gap_us: Flat, infinite: int) -> Distribution:
    in_us = percentiles(gap_us, PERCENTS, infinite)
    has_mean = len(gap_us) > 0 and not infinite
    return Distribution(
        count=len(gap_us) + infinite,
        mean=float(gap_us.mean(dtype=np.float64)) / 1000 if has_mean else None,
        percentiles={
            percent: None if value is None else value / 1000
            for percent, value in zip(PERCENTS, in_us, strict=True)
        },
        bounds={},
    )
