"""Whether chunks arrive one by one, or bunched by something between server and client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from reports.cell.latency import output_tokens
from reports.columns import Flat, Ints, RequestColumns
from reports.stats.ragged import sums

_TOGETHER_US: Final = 200.0  # arrivals this close, while tokens are far apart, are one delivery
_TOGETHER_SHARE: Final = 0.05  # of the request's mean gap
_BUNCHED_SHARE: Final = 0.25
_DELIVERIES: Final = 10  # in as many, the mean time per token is off by a tenth at most
_GAPS_AT_ONCE: Final = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bunching:
    """Share of gaps between chunks of one delivery, and deliveries per request (median)."""

    together_share: float
    deliveries: float

    @property
    def hides_gaps(self) -> bool:
        """True where single gaps say nothing about tokens."""
        return self.together_share > _BUNCHED_SHARE

    @property
    def hides_means(self) -> bool:
        """True where a request's mean time per token cannot be seen either."""
        return self.hides_gaps and self.deliveries < _DELIVERIES


def bunching(columns: RequestColumns) -> Bunching:
    """Return how far the chunks of the requests arrived together."""
    counts = np.diff(columns.gap_offsets)
    total = int(counts.sum())
    if not total:
        # Whole answers in one piece are the extreme of bunching, single tokens are none.
        in_one = bool((output_tokens(columns) > columns.output_chunks).any())
        return Bunching(together_share=float(in_one), deliveries=1.0)
    together = np.zeros(len(counts), dtype=np.int64)
    for first, last in _blocks(columns.gap_offsets):
        offsets = columns.gap_offsets[first : last + 1]
        gap_us = columns.gap_us[offsets[0] : offsets[-1]]
        together[first:last] = _together(gap_us, offsets - offsets[0])
    streamed = counts > 0
    deliveries = counts[streamed] + 1 - together[streamed]
    return Bunching(
        together_share=float(together.sum()) / total,
        deliveries=float(np.median(deliveries)),
    )


def _together(gap_us: Flat, offsets: Ints) -> Ints:
    counts = np.diff(offsets)
    mean_us = sums(gap_us, offsets) / np.maximum(counts, 1)
    limit_us = np.minimum(mean_us * _TOGETHER_SHARE, _TOGETHER_US).astype(np.float32)
    close = gap_us <= np.repeat(limit_us, counts)
    return sums(close, offsets).astype(np.int64)


def _blocks(offsets: Ints) -> list[tuple[int, int]]:
    """Return row ranges that hold a bounded number of gaps each (at least one row)."""
    rows, blocks, first = len(offsets) - 1, [], 0
    while first < rows:
        until = np.searchsorted(offsets, offsets[first] + _GAPS_AT_ONCE, side="right")
        last = min(max(int(until) - 1, first + 1), rows)
        blocks.append((first, last))
        first = last
    return blocks
