"""The outcome of a decision as its steps hand it on, and what several of them say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reports.decide.contender import Contender
from reports.decide.contest import Entry, comparisons, entries_of
from reports.decide.metric import BESIDE, COST, Metric
from reports.run.decision_file import Comparison, Outcome

HELD: Final = 0
REJECTED: Final = 3
MISSED: Final = 4
OPEN: Final = 5
VOID: Final = 7
NOTHING: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Who wins and how it came about; ``order`` are the ranked candidates, the winner first."""

    outcome: Outcome
    chosen: str | None = None
    tie_break: str | None = None
    sentence: str
    because: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    ranked_by: str = "nothing: no candidate is proven to hold the contract"
    order: tuple[str, ...] = ()
    metric: Metric = COST
    comparisons: tuple[Comparison, ...] = ()
    crossover: float | None = None
    exit_code: int

    @property
    def winner(self) -> str | None:
        """Whom the evidence or else the rule for ties names."""
        return self.chosen or self.tie_break


def holds_words(each: Contender) -> str:
    """That a candidate holds the contract, and by what."""
    return f"{each.name} holds the contract: {each.why}.{_by_statistic(each)}"


def _by_statistic(each: Contender) -> str:
    """That goodput is judged otherwise under another ITL statistic, where it is."""
    found = {} if each.cell is None else each.cell.goodput
    verdicts = {
        name: clause.verdict
        for name, clause in found.items()
        if clause.number.value is not None and clause.verdict != "no such clause"
    }
    if len(set(verdicts.values())) < 2:
        return ""
    words = ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items())
    return f" Goodput hangs on the ITL statistic: {words}."


def comparisons_of(
    entries: Mapping[str, Entry], metric: Metric, against: str, *, one_claim: bool
) -> tuple[Comparison, ...]:
    """The metric of the ranking, and beside it figures that decide nothing."""
    rows = list(comparisons(entries, metric, against, one_claim=one_claim))
    pool = [entry.contender for entry in entries.values()]
    for beside in BESIDE:
        rows += comparisons(
            entries_of(pool, beside, at_held=False), beside, against, one_claim=False
        )
    return tuple(rows)
