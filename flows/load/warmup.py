"""When the warm-up has ended: the medians of consecutive windows agree."""

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from statistics import median

from flows.load.plan import Warmup

# Output text, a reasoning delta or a tool call in an event; a role or an empty string is none.
_TOKEN = re.compile(
    rb'"(?:text|content|reasoning_content|reasoning|arguments)"\s*:\s*"[^"]|"tool_calls"\s*:\s*\['
)
_LOOKED_AT = 16


def first_token_ns(pieces: Sequence[bytes], stamps_ns: Sequence[int]) -> int | None:
    """Arrival of the first piece that carries output, as far as a glance can tell."""
    for piece, stamp_ns in zip(islice(pieces, _LOOKED_AT), stamps_ns, strict=False):
        if _TOKEN.search(piece):
            return stamp_ns
    return None


class WarmupJudge:
    """Says when the last windows of completed requests agree in TTFT and in ITL.

    For each window the median TTFT of its requests and the median of all their gaps are
    taken; windows agree when the largest median exceeds the smallest by less than the
    tolerance, relative to the smallest. The first `skipped` requests are not looked at.
    """

    def __init__(self, warmup: Warmup, *, skipped: int) -> None:
        self._warmup = warmup
        self._left_to_skip = skipped
        self._ttfts_ns: list[int] = []
        self._gaps_ns: list[int] = []
        self._medians_ns: list[tuple[float, float]] = []

    def agrees_after(
        self, scheduled_ns: int, pieces: Sequence[bytes], stamps_ns: Sequence[int]
    ) -> bool:
        """Take one completed request into account; True when the windows now agree."""
        if self._left_to_skip:
            self._left_to_skip -= 1
            return False
        first_ns = first_token_ns(pieces, stamps_ns)
        if first_ns is None:
            return False
        self._ttfts_ns.append(first_ns - scheduled_ns)
        self._gaps_ns.extend(
            later - earlier for earlier, later in pairwise(stamps_ns) if earlier >= first_ns
        )
        if len(self._ttfts_ns) < self._warmup.window:
            return False
        self._close_window()
        last = self._medians_ns[-self._warmup.windows :]
        return len(last) == self._warmup.windows and all(
            self._lie_close(values) for values in zip(*last, strict=True)
        )

    def _close_window(self) -> None:
        gap_ns = median(self._gaps_ns) if self._gaps_ns else 0.0
        self._medians_ns.append((median(self._ttfts_ns), gap_ns))
        self._ttfts_ns, self._gaps_ns = [], []

    def _lie_close(self, values: tuple[float, ...]) -> bool:
        smallest, largest = min(values), max(values)
        return largest - smallest <= self._warmup.tolerance * smallest
