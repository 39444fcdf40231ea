"""Shares that follow from two counters, and a counter that follows from its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from catalog.quantity import Basis
from flows.collect.figure import Figure, Found, Unavailable

Gains = Mapping[str, float | Unavailable]

# (part, whole): the first pair that a release counts
_PAIRS: Final = {
    "prefix_hits": (("prefix_hits", "prefix_queries"), ("cached_tokens", "prompt_tokens")),
    "accepted_tokens": (("accepted_tokens", "draft_tokens"),),
}


def completed(gains: Gains) -> dict[str, float | Unavailable]:
    """The gains, with all prompt tokens where only computed and cached ones are counted."""
    computed, cached = gains.get("computed_tokens"), gains.get("cached_tokens")
    if "prompt_tokens" in gains or not isinstance(computed, float):
        return dict(gains)
    if not isinstance(cached, float):
        return dict(gains)
    return {**gains, "prompt_tokens": computed + cached}


def share_counts(gains: Gains, name: str) -> tuple[float, float] | None:
    """Part and whole of a share; None where the server does not count both."""
    for part, whole in _PAIRS[name]:
        some, all_of_them = gains.get(part), gains.get(whole)
        if isinstance(some, float) and isinstance(all_of_them, float):
            return some, all_of_them
    return None


def shares(gains: Gains, basis: Basis) -> dict[str, Found]:
    """Prompt tokens from the prefix cache, and drafted tokens that were kept, of all."""
    found: dict[str, Found] = {}
    for name in _PAIRS:
        counts = share_counts(gains, name)
        if counts is not None and counts[1]:
            found[name] = Figure(
                unit="1",
                basis=basis,
                method="quotient of two counters, differences of two readings",
                n=round(counts[1]),
                value=counts[0] / counts[1],
            )
    return found
