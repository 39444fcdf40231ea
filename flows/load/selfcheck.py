"""The load process's account of itself: how late it was, how hard it worked."""

import math
from collections.abc import Sequence
from time import monotonic_ns, process_time_ns

_NS_PER_MS = 1e6
_TICK_NS = 20_000_000


def nearest_rank(values: Sequence[int], share: float) -> int | None:
    """Smallest value that at least `share` of all values do not exceed; None of none."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def p99_ms(values_ns: Sequence[int]) -> float | None:
    """99th percentile by nearest rank, in ms."""
    value_ns = nearest_rank(values_ns, 0.99)
    return None if value_ns is None else value_ns / _NS_PER_MS


class LoopLag:
    """How late a tick that is due every 20 ms is served, in ns."""

    def __init__(self, now_ns: int) -> None:
        self.due_ns = now_ns + _TICK_NS
        self.lags_ns: list[int] = []

    def serve(self, now_ns: int) -> None:
        """Note the lag of the tick that is due; ticks missed meanwhile were late as well."""
        while self.due_ns <= now_ns:
            self.lags_ns.append(now_ns - self.due_ns)
            self.due_ns += _TICK_NS


class Effort:
    """Processor time against wall time from construction to `stop`."""

    def __init__(self) -> None:
        self._wall_ns = monotonic_ns()
        self._cpu_ns = process_time_ns()

    def stop(self) -> dict[str, float]:
        """`cpu_s`, `wall_s` and `cpu_share`, the part of one core that was used."""
        cpu_s = (process_time_ns() - self._cpu_ns) / 1e9
        wall_s = (monotonic_ns() - self._wall_ns) / 1e9
        return {"cpu_s": cpu_s, "wall_s": wall_s, "cpu_share": cpu_s / wall_s}
