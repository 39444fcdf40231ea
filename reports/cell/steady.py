"""Whether a cell stayed as it was while it was measured, and whether it moved in waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from reports.cell.latency import output_tokens
from reports.columns import NULL, Flags, Ints, Reals, RequestColumns
from reports.stats.flight import block_means, overlap
from reports.stats.trend import Trend, trend

# Neighbouring blocks near capacity resemble each other, which imitates a trend: with eight,
# queues at 95% utilisation are called steady in 98 of 100 cells of 200 requests.
_BLOCKS: Final = 8
_MIN_REQUESTS: Final = 3 * _BLOCKS
_P_VALUE: Final = 0.001
_CHANGE: Final = 0.2
_MIN_STREAMS: Final = 4
_WAVE_CV: Final = 1.5
_WAVE_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The measured window on the records' clock.

    It begins when the first measured request was due. `last_due_ns` is when the last one
    was, `end_ns` when the last successful one ended.
    """

    begin_ns: int
    last_due_ns: int
    end_ns: int

    @property
    def length_s(self) -> float:
        """Seconds from the first due time to the last end."""
        return (self.end_ns - self.begin_ns) / 1e9


def window_of(measured: RequestColumns) -> Window | None:
    """Return the window of the measured requests; None without a successful one."""
    due_ns = measured.scheduled_ns[measured.scheduled_ns != NULL]
    end_ns = measured.done_ns[(measured.outcome == "ok") & (measured.done_ns != NULL)]
    if not len(due_ns) or not len(end_ns):
        return None
    return Window(
        begin_ns=int(due_ns.min()), last_due_ns=int(due_ns.max()), end_ns=int(end_ns.max())
    )


def trends(
    columns: RequestColumns, measured: RequestColumns, ttft_ms: Reals, window: Window
) -> Mapping[str, Trend]:
    """Return the trends of in flight, TTFT and output tokens over equal parts of the window.

    `ttft_ms` belongs to the measured requests. Nothing is judged on fewer than three
    requests per part.
    """
    if len(measured) < _MIN_REQUESTS or window.last_due_ns <= window.begin_ns:
        return {}
    edges_ns = np.linspace(window.begin_ns, window.last_due_ns, _BLOCKS + 1)
    begin_ns, end_ns = flights(columns)
    series = {
        "in flight": block_means(begin_ns, end_ns, edges_ns),
        "TTFT": _means(measured.scheduled_ns, ttft_ms, edges_ns),
        "output tokens per second": np.array(
            [
                tokens_between(columns, edges_ns[block], edges_ns[block + 1])
                for block in range(_BLOCKS)
            ]
        ),
    }
    return {name: trend(values) for name, values in series.items() if np.isfinite(values).all()}


def is_trend(found: Trend) -> bool:
    """True for a change that chance hardly makes and that moves the cell's numbers."""
    return found.p_value < _P_VALUE and abs(found.change) > _CHANGE


def flights(columns: RequestColumns) -> tuple[Ints, Ints]:
    """Return when each request that was sent and ended was sent, and when it ended."""
    flown = (columns.sent_ns != NULL) & (columns.done_ns != NULL)
    return columns.sent_ns[flown], columns.done_ns[flown]


def _means(at_ns: Ints, values: Reals, edges_ns: Reals) -> Reals:
    usable = np.isfinite(values)
    block = np.searchsorted(edges_ns, at_ns[usable], side="right") - 1
    block = np.clip(block, 0, _BLOCKS - 1)
    counts = np.bincount(block, minlength=_BLOCKS)
    totals = np.bincount(block, values[usable], minlength=_BLOCKS)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def tokens_between(columns: RequestColumns, from_ns: float, to_ns: float) -> float:
    """Return output tokens of successful requests that arrived in a span of time.

    Each answer's tokens count as spread evenly between its first and its last.
    """
    ok = columns.outcome == "ok"
    first_ns, last_ns = columns.first_token_ns[ok], columns.last_token_ns[ok]
    tokens = output_tokens(columns)[ok]
    at_once: Flags = (first_ns == last_ns) & (first_ns > from_ns) & (first_ns <= to_ns)
    lengths_ns = np.maximum(last_ns - first_ns, 1)
    spread = overlap(first_ns, last_ns, from_ns, to_ns) / lengths_ns
    return float((tokens * np.where(at_once, 1.0, spread)).sum())


def moves_in_waves(measured: RequestColumns, streams: int) -> bool:
    """Return whether the completions of a closed loop come in waves.

    Perfect waves of n streams give gaps between completions a CV of sqrt(n - 1), streams
    that are independent of one another about 1; half of the former, and at least 1.5, is
    called a wave.
    """
    ends_ns = np.sort(measured.done_ns[measured.outcome == "ok"])
    if streams < _MIN_STREAMS or len(ends_ns) < 3 * streams:
        return False
    gaps_ns = np.diff(ends_ns)
    gap_cv = float(gaps_ns.std()) / max(float(gaps_ns.mean()), 1.0)
    return gap_cv > max(_WAVE_CV, _WAVE_SHARE * sqrt(streams - 1))
