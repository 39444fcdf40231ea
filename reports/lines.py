"""Rows of a ranking: candidates that the paper cannot tell apart share one."""

from __future__ import annotations

from collections.abc import Sequence
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


def merged(candidates: Sequence[Verdict]) -> tuple[Line, ...]:
    """Rows in the order of their first candidate, runtimes that judge alike in one."""
    rows: dict[tuple[object, ...], list[Verdict]] = {}
    for candidate in candidates:
        rows.setdefault(_alike(candidate), []).append(candidate)
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
        verdict.best_usd_per_1m_output,
        tuple((gate.status, gate.margin) for gate in verdict.gates),
    )


def best(screen: Screen, limit: int) -> tuple[Line, ...]:
    """The rows to show: all of a campaign's; of all offers the first ``limit`` (0 for all).

    Candidates off the contract's precision cannot be chosen: they do not take these places.
    """
    if not screen.all_offers:
        return _separate(screen.candidates)
    rows = merged([c for c in screen.candidates if _at_contract(c)])
    return rows[:limit] if limit else rows


def needing_proof(screen: Screen, limit: int) -> tuple[Line, ...]:
    """The first rows of those off the contract's precision, where every offer stands."""
    if not screen.all_offers:
        return ()
    rows = merged([c for c in screen.candidates if not _at_contract(c)])
    return rows[: max(1, limit // _SHARE_APART)] if limit else rows


def _at_contract(verdict: Verdict) -> bool:
    return verdict.parity == PARITY
