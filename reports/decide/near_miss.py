"""Which candidate comes nearest to the contract where none holds it, and what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from catalog.quantity import Basis
from reports.decide.contender import Contender
from reports.decide.flips import LIMITS, TITLES
from reports.number_words import amount
from reports.run.decision_file import Flip
from reports.run.number import Number
from reports.run.summary_file import ClauseSummary

_FLOOR = "goodput"  # the others are ceilings


def near_miss(everybody: Sequence[Contender]) -> tuple[Flip, ...]:
    """Return the limits under which the nearest candidate would keep what it misses.

    Nearest is whose farthest clause lies, as a share of its limit, the least beyond it. One
    that misses a clause of another kind (quality, cost, throughput), or whose figure lies
    among the failures, is at no distance that a limit could close.
    """
    missing = [each for each in everybody if each.standing == "misses"]
    nearest = min(missing, key=lambda each: (_distance(each), each.name), default=None)
    if nearest is None or _distance(nearest) == inf:
        return ()
    return tuple(_flip(nearest, clause) for clause in _missed(nearest))


def _missed(each: Contender) -> tuple[ClauseSummary, ...]:
    names = [name for name, verdict in each.clauses.items() if verdict == "misses"]
    if each.cell is None or not set(names) <= LIMITS.keys():
        return ()
    return tuple(each.cell.clauses[name] for name in names)


def _distance(each: Contender) -> float:
    return max(map(_beyond, _missed(each)), default=inf)


def _beyond(clause: ClauseSummary) -> float:
    """How far it lies on the wrong side of its limit, as a share of it."""
    value, limit = clause.number.value, clause.limit
    if value is None or not limit:
        return inf
    return (limit - value if clause.name == _FLOOR else value - limit) / limit


def _flip(each: Contender, clause: ClauseSummary) -> Flip:
    number, what = clause.number, LIMITS[clause.name]
    is_floor = clause.name == _FLOOR
    edge, side = (number.low, "at most") if is_floor else (number.high, "at least")
    seen, limit = amount(number.value, number.unit), amount(clause.limit, number.unit)
    wrong, title = "below" if is_floor else "above", TITLES[what]
    words = (
        f"{each.name} comes nearest: {clause.statistic} {seen} is "
        f"{amount(_beyond(clause), '1')} {wrong} the limit of {limit}"
    )
    if edge is not None:
        words += f"; with the {title} {side} {amount(edge, number.unit)} it would be kept"
    return Flip(
        what=what,
        candidate=each.name,
        now=Number(value=clause.limit, unit=number.unit, basis=Basis.SPECIFICATION),
        flips_at=None
        if edge is None
        else Number(value=edge, unit=number.unit, basis=number.basis),
        sentence=f"{words}.",
    )
