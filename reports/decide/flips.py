"""What would change the decision: a price, a load, a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from catalog.quantity import Basis
from reports.contract_words import stated
from reports.decide.contender import Contender
from reports.decide.metric import COST, Metric, currency_of, score
from reports.number_words import amount
from reports.run.decision_file import Flip
from reports.run.number import Number
from reports.run.plan_file import ContractFacts

Limit = Literal["ttft limit", "itl limit", "goodput target"]
LIMITS: Final[Mapping[str, Limit]] = {
    "ttft": "ttft limit",
    "itl": "itl limit",
    "goodput": "goodput target",
}

TITLES: Final[Mapping[Limit, str]] = {
    "ttft limit": "TTFT limit",
    "itl limit": "ITL limit",
    "goodput target": "goodput target",
}


def flips_of(
    winner: Contender,
    rivals: Sequence[Contender],
    cheaper_missers: Sequence[Contender],
    metric: Metric,
    contract: ContractFacts,
) -> tuple[Flip, ...]:
    """Return what would flip the decision.

    Parameters
    ----------
    rivals
        The others that hold the contract, the best first.
    cheaper_missers
        Candidates that do not hold it and would be better by the metric.
    """
    found = [*_prices(winner, rivals, metric), *_held(winner), *_own_limits(winner)]
    for each in cheaper_missers:
        found += _their_limits(each, winner)
    found += [flip for each in rivals if (flip := _break_even(winner, each, contract))]
    return tuple(found)


def _prices(winner: Contender, rivals: Sequence[Contender], metric: Metric) -> Iterator[Flip]:
    """The price at which a rival would cost as much per token as the winner."""
    if metric is not COST:
        return
    ours = score(winner.measure(winner.cell, COST.name))
    for each in rivals:
        theirs, price = score(each.measure(each.cell, COST.name)), each.facts.price
        if ours is None or theirs is None or price is None or theirs <= 0:
            continue
        even = price.value * ours / theirs
        yield Flip(
            what="price",
            candidate=each.name,
            now=Number(value=price.value, unit=price.unit, basis=price.basis),
            flips_at=Number(value=even, unit=price.unit, basis=Basis.MEASUREMENT),
            sentence=(
                f"At {amount(even, price.unit)} instead of {amount(price.value, price.unit)} "
                f"{each.name} would cost as much per compliant token as {winner.name}."
            ),
        )


def _held(winner: Contender) -> Iterator[Flip]:
    """The load up to which the winner is proven, and from which it is known to miss."""
    bracket = winner.held
    if bracket is None or bracket.highest_proven is None:
        return
    beyond = (
        "beyond that nothing was measured to fail"
        if bracket.lowest_disproven is None
        else f"at {stated(bracket.lowest_disproven)} per s it misses"
    )
    yield Flip(
        what="load",
        candidate=winner.name,
        now=None,
        flips_at=Number(
            value=bracket.lowest_disproven,
            unit="/s",
            basis=Basis.MEASUREMENT,
            low=bracket.highest_proven,
            high=bracket.lowest_disproven,
        ),
        sentence=(
            f"One instance of {winner.name} is proven up to "
            f"{_requests(bracket.highest_proven)} per s; {beyond}."
        ),
    )


def _requests(rate: float) -> str:
    return f"{stated(rate)} request{'' if rate == 1 else 's'}"


def _own_limits(winner: Contender) -> Iterator[Flip]:
    """The tightest limit under which the winner would still be proven to comply."""
    if winner.cell is None:
        return
    for name, what in LIMITS.items():
        clause = winner.cell.clauses.get(name)
        if clause is None or clause.limit is None:
            continue
        edge = clause.number.low if name == "goodput" else clause.number.high
        if edge is None:
            continue
        unit = clause.number.unit
        side = "above" if name == "goodput" else "below"
        yield Flip(
            what=what,
            candidate=winner.name,
            now=Number(value=clause.limit, unit=unit, basis=Basis.SPECIFICATION),
            flips_at=Number(value=edge, unit=unit, basis=clause.number.basis),
            sentence=(
                f"With the {TITLES[what]} {side} {amount(edge, unit)} instead of "
                f"{amount(clause.limit, unit)} {winner.name} would no longer be proven."
            ),
        )


def _their_limits(each: Contender, winner: Contender) -> Iterator[Flip]:
    """The limit under which a better candidate that misses one clause alone would comply."""
    missed = [name for name, verdict in each.clauses.items() if verdict == "misses"]
    if each.cell is None or len(missed) != 1 or missed[0] not in ("ttft", "itl"):
        return
    clause = each.cell.clauses[missed[0]]
    edge, what = clause.number.high, LIMITS[missed[0]]
    if edge is None or clause.limit is None:
        return
    yield Flip(
        what=what,
        candidate=each.name,
        now=Number(value=clause.limit, unit="ms", basis=Basis.SPECIFICATION),
        flips_at=Number(value=edge, unit="ms", basis=clause.number.basis),
        sentence=(
            f"With the {TITLES[what]} at {amount(edge, 'ms')} instead of "
            f"{amount(clause.limit, 'ms')} "
            f"{each.name} would keep this clause, and it is better than {winner.name}."
        ),
    )


def _can_bear(each: Contender, rate: float) -> str:
    held = None if each.held is None else each.held.highest_proven
    if held is not None and held >= rate:
        return f"{each.name} is proven up to {amount(held, '/s')}."
    proven = "no rate" if held is None else f"no more than {amount(held, '/s')}"
    return f"Of {each.name} {proven} is proven: whether one instance bears that load is open."


def _break_even(winner: Contender, rival: Contender, contract: ContractFacts) -> Flip | None:
    """The load above which hardware by the hour is cheaper than tokens by the million."""
    pair = (winner, rival)
    by_token = next((e for e in pair if e.facts.price and e.hourly is None), None)
    by_hour = next((e for e in pair if e.hourly is not None), None)
    if by_token is None or by_hour is None or by_token.facts.price is None:
        return None
    if currency_of(by_token.facts) != currency_of(by_hour.facts) or not by_hour.hourly:
        return None
    if not contract.output_tokens.isdecimal() or by_token.facts.price.value <= 0:
        return None
    tokens_per_s = by_hour.hourly / by_token.facts.price.value * 1e6 / 3600
    rate = tokens_per_s / float(contract.output_tokens)
    return Flip(
        what="load",
        candidate=by_hour.name,
        now=None,
        flips_at=Number(value=rate, unit="/s", basis=by_token.facts.price.basis),
        sentence=(
            f"Above {amount(rate, '/s')} around the clock one instance of {by_hour.name} costs "
            f"less than {by_token.name}; below, {by_token.name} does. "
            f"{_can_bear(by_hour, rate)}"
        ),
    )
