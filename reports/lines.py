"""Rows of a ranking: candidates that the paper cannot tell apart share one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from catalog.facts import PARITY
from catalog.screen import Screen
from catalog.verdict import Verdict
from reports.phrases import engine

_SHARE_APART = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Candidates that differ in their runtime alone, and that the same gates judge alike."""

    candidates: tuple[Verdict, ...]

    @property
    def first(self) -> Verdict:
        """The candidate that stands for all."""
        return self.candidates[0]

    @property
    def name(self) -> str:
        """The candidate's name; without the runtime at its end where several share the row."""
        if len(self.candidates) == 1:
            return self.first.name
        return self.first.name.removesuffix(f"/{self.first.runtime}")

    @property
    def engines(self) -> str:
        """Runtimes with their versions."""
        return ", ".join(engine(candidate) for candidate in self.candidates)

    @property
    def ranks(self) -> str:
        """Ranks of any of the row's candidates, each once."""
        ranks = [rank.value for candidate in self.candidates for rank in candidate.ranks]
        return ", ".join(dict.fromkeys(ranks))


def _separate(candidates: Sequence[Verdict]) -> tuple[Line, ...]:
    """One row for each candidate."""
    return tuple(Line(candidates=(candidate,)) for candidate in candidates)


def merged(candidates: Iterable[Verdict], limit: int = 0) -> tuple[Line, ...]:
    """The first ``limit`` rows (0 for all), runtimes that judge alike in one.

    Candidates come in the order of their cost, and what is alike costs the same: once the
    rows are full and the cost has changed, no row can grow any more.
    """
    rows: dict[tuple[object, ...], list[Verdict]] = {}
    cost: float | None = None
    for candidate in candidates:
        is_full = limit and len(rows) >= limit
        if is_full and candidate.cost != cost:
            break
        key = _alike(candidate)
        if not is_full or key in rows:
            rows.setdefault(key, []).append(candidate)
            cost = candidate.cost
    return tuple(Line(candidates=tuple(row)) for row in rows.values())


def _alike(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.offer,
        verdict.device,
        verdict.device_count,
        verdict.tensor_parallel,
        verdict.precision,
        verdict.kv_precision,
        verdict.verdict,
        verdict.decided_by,
        verdict.clause,
        verdict.cost,
        tuple((gate.status, gate.margin) for gate in verdict.gates),
    )


def best(screen: Screen, limit: int) -> tuple[Line, ...]:
    """The rows to show: all of a campaign's; of all offers the first ``limit`` (0 for all).

    Candidates off the contract's precision cannot be chosen: they do not take these places.
    """
    if not screen.all_offers:
        return _separate(screen.candidates)
    return merged((c for c in screen.candidates if _at_contract(c)), limit)


def needing_proof(screen: Screen, limit: int) -> tuple[Line, ...]:
    """The first rows of those off the contract's precision, where every offer stands."""
    if not screen.all_offers:
        return ()
    places = max(1, limit // _SHARE_APART) if limit else 0
    return merged((c for c in screen.candidates if not _at_contract(c)), places)


def _at_contract(verdict: Verdict) -> bool:
    return verdict.parity == PARITY
