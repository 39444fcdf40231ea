"""Who is best among those that hold the contract, and whether that is shown.

The claim is one: "this candidate is better than each of the others". It is made for the best
of the sample only, and needs every single comparison to be clear of its margin; so no
correction for their number is needed, nor for having picked the best after the fact: the
error is largest where only the two best are alike, and there it is that of one two-sided
comparison (Gutmann and Maymin, Annals of Statistics 15 (1987) 456-461; Berger, Technometrics
24 (1982) 295-300 for the intersection). A further candidate that is clearly worse can
therefore never take the choice away from the winner, as it would under a correction that
grows with the number of comparisons.

Single comparisons are not claims of that kind. Where the one claim fails they are made
against a reference that the data did not pick (the incumbent, else the paper's primary) and
corrected for their number (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from catalog.quantity import Basis
from reports.decide.contender import Contender
from reports.decide.metric import Metric, Values, best_first, tie_order
from reports.run.decision_file import Comparison, Word
from reports.run.number import Number
from reports.run.summary_file import CellSummary
from reports.stats import compare
from reports.stats.compare import ACROSS_MACHINES, LEVEL, SAME_MACHINE, judged_together

TIED: Final[Word] = "no difference shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A candidate in a contest: its cell, and its values by replication."""

    contender: Contender
    cell: CellSummary
    values: Values

    @property
    def hosts(self) -> frozenset[str]:
        """The machines that its launches ran on."""
        return frozenset(each.host for each in self.cell.replications)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The outcome among candidates that hold the contract.

    ``tied`` are those that the best is not shown to beat, itself among them. ``winner`` is
    the best, or whom the rule for ties names; ``shown`` says whether it is a finding.
    ``kept`` says why an incumbent stays although another is better.
    """

    metric: Metric
    order: tuple[str, ...]
    best: str
    tied: tuple[str, ...]
    winner: str
    shown: bool
    kept: str = ""


def contest(
    entries: Mapping[str, Entry],
    metric: Metric,
    *,
    incumbent: str | None,
    switch_if_saves: float,
) -> Contest:
    """Return who is best by the metric, and whether that is shown."""
    pool = [entry.contender for entry in entries.values()]
    values = {name: entry.values for name, entry in entries.items()}
    order = tuple(each.name for each in best_first(pool, values, metric))
    best = order[0]
    others = [name for name in order if name != best]
    words = {name: judged(entries[name], entries[best], metric).word for name in others}
    tied = (best, *(name for name in others if words[name] != "worse"))
    result = Contest(
        metric=metric,
        order=order,
        best=best,
        tied=tied,
        winner=min(tied, key=lambda name: tie_order(entries[name].contender)),
        shown=len(tied) == 1,
    )
    if incumbent is None or incumbent not in entries or incumbent == best:
        return result if incumbent not in tied else _to(result, incumbent)
    return _against_incumbent(result, entries, incumbent, switch_if_saves)


def _against_incumbent(
    found: Contest, entries: Mapping[str, Entry], incumbent: str, switch_if_saves: float
) -> Contest:
    """An incumbent stays where it is not beaten, or where the switch saves too little."""
    if incumbent in found.tied:
        return _to(found, incumbent)
    gains = {
        name: _gain(entries[name], entries[incumbent], found.metric) for name in found.tied
    }
    if gains[found.best] < switch_if_saves:
        return Contest(
            metric=found.metric,
            order=found.order,
            best=found.best,
            tied=(incumbent,),
            winner=incumbent,
            shown=True,
            kept=(
                f"{found.best} is better by {gains[found.best]:.1%}; a switch from "
                f"{incumbent} must save {switch_if_saves:.0%}"
            ),
        )
    worth_it = [
        name
        for name in found.tied
        if gains[name] >= switch_if_saves
        and judged(entries[name], entries[incumbent], found.metric).word == "better"
    ]
    winner = min(worth_it, key=lambda name: tie_order(entries[name].contender))
    return _to(found, winner)


def _to(found: Contest, winner: str) -> Contest:
    return Contest(
        metric=found.metric,
        order=found.order,
        best=found.best,
        tied=found.tied,
        winner=winner,
        shown=found.shown,
    )


def _gain(ours: Entry, theirs: Entry, metric: Metric) -> float:
    """Share that is saved (or, of tokens, gained) against another; 0 where unknown."""
    ratio = judged(ours, theirs, metric).ratio
    if ratio is None or ratio <= 0:
        return 0.0
    return 1 - ratio if metric.better == "lower" else 1 - 1 / ratio


def judged(ours: Entry, theirs: Entry, metric: Metric) -> compare.Comparison:
    """Return the comparison of two candidates, paired where both ran in each replication."""
    margin = margin_of(ours, theirs)
    shared = sorted(set(ours.values) & set(theirs.values))
    if shared and set(ours.values) == set(theirs.values):
        return compare.paired(
            [ours.values[number] for number in shared],
            [theirs.values[number] for number in shared],
            better=metric.better,
            margin=margin,
        )
    return compare.unpaired(
        list(ours.values.values()),
        list(theirs.values.values()),
        better=metric.better,
        margin=margin,
    )


def margin_of(ours: Entry, theirs: Entry) -> float:
    """Return 2% on one machine, or where each ran on two of its own; else 5%."""
    if ours.hosts == theirs.hosts and len(ours.hosts) == 1:
        return SAME_MACHINE
    several = len(ours.hosts) > 1 and len(theirs.hosts) > 1
    return SAME_MACHINE if several else ACROSS_MACHINES


def reference(entries: Mapping[str, Entry], incumbent: str | None) -> str:
    """Return whom the others are held against; the measurement has no say in it.

    The incumbent, else the paper's primary, else the first by the rule for ties.
    """
    if incumbent is not None and incumbent in entries:
        return incumbent

    def place(name: str) -> tuple[bool, tuple[int, float, str]]:
        facts = entries[name].contender.facts
        return "primary" not in facts.ranks, tie_order(entries[name].contender)

    return min(entries, key=place)


def comparisons(
    entries: Mapping[str, Entry], metric: Metric, against: str, *, one_claim: bool
) -> tuple[Comparison, ...]:
    """Return every other candidate against one.

    Parameters
    ----------
    one_claim
        Whether they make up the one claim that ``against`` is better than all: its p value
        is then the largest of theirs. Else they are corrected for their number (Holm).
    """
    family = {
        name: judged(entry, entries[against], metric)
        for name, entry in entries.items()
        if name != against
    }
    if one_claim:
        largest = max((found.p_value or 0.0 for found in family.values()), default=None)
        adjusted: Mapping[str, tuple[compare.Comparison, float | None]] = {
            name: (found, largest) for name, found in family.items()
        }
    else:
        adjusted = {
            name: (found, found.p_adjusted) for name, found in judged_together(family).items()
        }
    return tuple(
        as_file(name, against, metric, found, p_adjusted, basis=entries[name].cell.basis)
        for name, (found, p_adjusted) in adjusted.items()
    )


def as_file(
    name: str,
    against: str,
    metric: Metric,
    found: compare.Comparison,
    p_adjusted: float | None,
    *,
    basis: Basis,
) -> Comparison:
    """Return a comparison as the result file has it."""
    return Comparison(
        candidate=name,
        against=against,
        metric=metric.name,
        ratio=Number(
            value=found.ratio,
            unit="ratio",
            basis=basis,
            low=found.low,
            high=found.high,
            level=LEVEL if found.low is not None else None,
            method=found.method,
            runs=min(found.n_runs),
        ),
        margin=found.margin,
        p=found.p_value,
        p_adjusted=p_adjusted,
        word=found.word,
        paired=found.method == compare.PAIRED,
        why=found.why or "",
    )


def entries_of(pool: Sequence[Contender], metric: Metric, *, at_held: bool) -> dict[str, Entry]:
    """Return the contest's entries: at the contract's load, or at the highest held rate."""
    return {entry.contender.name: entry for entry in _entries(pool, metric, at_held=at_held)}


def _entries(pool: Sequence[Contender], metric: Metric, *, at_held: bool) -> Iterator[Entry]:
    for each in pool:
        cell = each.held_cell if at_held else each.cell
        if cell is not None:
            yield Entry(contender=each, cell=cell, values=each.measure(cell, metric.name))
