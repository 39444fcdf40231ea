"""A server's account at one time, in our quantities and units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from flows.collect.histogram import Histogram

_HELD: Final = ("running", "waiting", "swapped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A server's account at one time; what a mapping lacks is not on the page.

    ``amounts`` count since the reading before, ``counters`` since the server's start;
    ``parts`` are all cumulative samples by name and labels; ``steps`` the numbers of the
    first and the last engine step that an ``iterations`` page told of.
    """

    asked_ns: int
    answered_ns: int
    gauges: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    amounts: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[int, int] | None = None

    @property
    def present(self) -> float | None:
        """Requests in the server, whether computed or waiting; None where one is unknown."""
        if "in_server" in self.gauges:
            return self.gauges["in_server"]
        if "running" not in self.gauges or "waiting" not in self.gauges:
            return None
        return sum(self.gauges.get(name, 0.0) for name in _HELD)

    @property
    def waiting(self) -> float | None:
        """Requests that wait for a place in the batch, swapped ones among them."""
        if "waiting" not in self.gauges:
            return None
        return self.gauges["waiting"] + self.gauges.get("swapped", 0.0)

    @property
    def kv_use(self) -> float | None:
        """Share of the KV cache in use."""
        if "kv_use" in self.gauges:
            return self.gauges["kv_use"]
        used, blocks = self.gauges.get("kv_used_blocks"), self.gauges.get("kv_blocks")
        return used / blocks if used is not None and blocks else None
