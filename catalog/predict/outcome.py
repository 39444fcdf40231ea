"""From a simulated cell to the figures that a measured cell has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from catalog.predict.engine import Course
from catalog.predict.load import Drawn, Load

Reals = NDArray[np.float64]
Statistic = Literal["tpot", "p95_gap", "max_gap"]
_GAP_SHARE: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The contract's limits in seconds, the percentile that they are of, and its goodput."""

    ttft_s: float | None = None
    itl_s: float | None = None
    statistic: Statistic = "tpot"
    percentile: float = 95.0
    goodput: float | None = None

    @property
    def has_any(self) -> bool:
        """Whether a request can miss anything."""
        return self.ttft_s is not None or self.itl_s is not None


def figures(
    course: Course, drawn: Drawn, load: Load, limits: Limits, jitter: Sequence[float]
) -> Mapping[str, float]:
    """Figures of the measured requests, by the names that a summary has for them.

    Times in milliseconds, rates per second, goodput as a share; ``jitter`` are equally likely
    factors of single gaps. What the cell cannot show (no gap, no limit) is left out.
    """
    due, first, last = (
        np.array(each) for each in (course.due_s, course.first_s, course.last_s)
    )
    outputs = np.array(drawn.outputs)
    measured = np.arange(len(due)) >= load.warm_up
    ttft = first - due
    behind = outputs - 1
    tpot = np.where(behind > 0, (last - first) / np.maximum(behind, 1), np.nan)
    percents = (50.0, limits.percentile)
    found: dict[str, float] = {}
    found |= _percentiles("ttft", ttft[measured], percents)
    found |= _percentiles("tpot", tpot[measured & (behind > 0)], percents)
    gaps, weights = _gaps(course, int(np.min(np.array(course.joined)[measured])), jitter)
    if len(gaps):
        for percent in percents:
            found[_name("itl", percent)] = 1e3 * weighted(gaps, weights, percent / 100)
    found |= _rates(due, last, outputs, measured)
    if limits.has_any:
        found["goodput"] = float(
            np.mean(_kept(course, ttft, tpot, behind, limits=limits, jitter=jitter)[measured])
        )
    return found


def keeps(found: Mapping[str, float], limits: Limits) -> bool:
    """Whether figures keep every clause of a contract."""
    percent = limits.percentile
    itl = "itl" if limits.statistic == "p95_gap" else "tpot"
    pairs = (("ttft", limits.ttft_s), (itl, limits.itl_s))
    for name, limit in pairs:
        value = found.get(_name(name, percent))
        if limit is not None and value is not None and value > limit * 1e3:
            return False
    share = found.get("goodput")
    return limits.goodput is None or share is None or share >= limits.goodput


def weighted(values: Reals, weights: Reals, share: float) -> float:
    """The value that ``share`` of the weight does not exceed."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    place = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float(values[order][min(place, len(values) - 1)])


def _name(measure: str, percent: float) -> str:
    return f"{measure}_p{percent:g}_ms"


def _percentiles(measure: str, values: Reals, percents: Sequence[float]) -> dict[str, float]:
    if not len(values):
        return {}
    found = np.percentile(values, percents)
    return {
        _name(measure, percent): 1e3 * float(value)
        for percent, value in zip(percents, found, strict=True)
    }


def _gaps(course: Course, since: int, jitter: Sequence[float]) -> tuple[Reals, Reals]:
    """All gaps from a step on, each spread over the jitter, and how many there are of each."""
    gaps, weights = [], []
    for each in course.stretches:
        if each.first_step < since:
            continue
        old = min(each.old, each.sequences) if each.stalled_s else 0
        if old:
            gaps.append(each.step_s + each.stalled_s)
            weights.append(old)
        gaps.append(each.step_s)
        weights.append(each.sequences * each.steps - old)
    spread = np.array(jitter)
    return (
        np.outer(gaps, spread).ravel(),
        np.repeat(np.array(weights, dtype=np.float64), len(spread)),
    )


def _rates(
    due: Reals, last: Reals, outputs: NDArray[np.int64], measured: NDArray[np.bool_]
) -> dict[str, float]:
    """Requests and output tokens that end per second, from the first due to the last end."""
    begin, end = float(np.min(due[measured])), float(np.max(last[measured]))
    if end <= begin:
        return {}
    inside = (last > begin) & (last <= end)
    seconds = end - begin
    return {
        "requests_per_s": float(np.sum(inside)) / seconds,
        "output_tokens_per_s": float(np.sum(outputs[inside])) / seconds,
    }


def _kept(
    course: Course,
    ttft: Reals,
    tpot: Reals,
    behind: NDArray[np.int64],
    *,
    limits: Limits,
    jitter: Sequence[float],
) -> NDArray[np.bool_]:
    kept: NDArray[np.bool_] = np.isfinite(ttft)
    if limits.ttft_s is not None:
        kept &= ttft <= limits.ttft_s
    if limits.itl_s is None:
        return kept
    itl = tpot if limits.statistic == "tpot" else _own_gaps(course, limits.statistic, jitter)
    kept &= (itl <= limits.itl_s) | (behind == 0)
    return kept


def _own_gaps(course: Course, statistic: Statistic, jitter: Sequence[float]) -> Reals:
    """Of each request the 95th percentile, or the longest, of its own gaps; NaN for none."""
    found = np.full(len(course.joined), np.nan)
    starts = np.array([each.first_step for each in course.stretches])
    stalled = np.array([each.stalled_s for each in course.stretches])
    plain = np.array([each.step_s for each in course.stretches])
    ends = starts + np.array([each.steps for each in course.stretches])
    spread = np.array(jitter)
    for request, (joined, left) in enumerate(zip(course.joined, course.left, strict=True)):
        low = int(np.searchsorted(ends, joined, side="right"))
        high = int(np.searchsorted(starts, left, side="left"))
        if high <= low or left <= joined:
            continue
        steps = np.minimum(ends[low:high], left) - np.maximum(starts[low:high], joined)
        late = (stalled[low:high] > 0) & (starts[low:high] > joined)
        gaps = np.concatenate((plain[low:high], (plain + stalled)[low:high][late]))
        counts = np.concatenate((steps - late, np.ones(int(late.sum()))))
        share = _GAP_SHARE if statistic == "p95_gap" else 1 - 0.5 / max(1, left - joined)
        found[request] = weighted(
            np.outer(gaps, spread).ravel(), np.repeat(counts, len(spread)), share
        )
    return found
