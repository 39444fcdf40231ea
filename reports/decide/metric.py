"""What candidates are ranked by, and each one's value of it by replication."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from reports.decide.contender import Contender
from reports.run.plan_file import CandidateFacts
from reports.stats.compare import Direction

Values = Mapping[int, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A measure of a cell's summary, which of its values are better, and its name in words."""

    name: str
    better: Direction
    words: str


COST: Final = Metric(
    name="usd_per_1m_compliant", better="lower", words="cost of 1M compliant tokens"
)
YIELD: Final = Metric(
    name="compliant_tok_per_machine_hour",
    better="higher",
    words="compliant tokens per machine-hour",
)
BESIDE: Final = (
    Metric(name="ttft_p95_ms", better="lower", words="p95 TTFT"),
    Metric(name="tpot_p95_ms", better="lower", words="p95 TPOT"),
    Metric(name="output_tokens_per_s", better="higher", words="output tokens per second"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The metric of the ranking, why it is that one, and who is left out of it for what."""

    metric: Metric
    why: str
    apart: Mapping[str, str]


def choose_metric(pool: Sequence[Contender], commitments: Sequence[str]) -> Choice:
    """Return cost where every complying candidate has a price that can be compared.

    Prices of other commitments than the campaign ranks together are left out; without
    prices, or with several currencies, tokens per machine-hour are ranked instead.
    """
    apart = _other_commitments(pool, commitments)
    if len(apart) == len(pool):
        why = f"no price is {' or '.join(commitments)}, and they are not alike"
        return Choice(metric=YIELD, why=why, apart={})
    priced = [each for each in pool if each.name not in apart]
    currencies = {currency for each in priced if (currency := currency_of(each.facts))}
    unknown = [each.name for each in priced if each.facts.price is None]
    if unknown:
        why = f"the price of {', '.join(sorted(unknown))} is not known"
    elif len(currencies) > 1:
        why = f"prices are in {', '.join(sorted(currencies))}"
    else:
        return Choice(metric=COST, why="every price is known", apart=apart)
    return Choice(metric=YIELD, why=why, apart=apart)


def _other_commitments(pool: Sequence[Contender], commitments: Sequence[str]) -> dict[str, str]:
    stated = {each.name: each.facts.price.commitment for each in pool if each.facts.price}
    kinds = {kind for kind in stated.values() if kind is not None}
    if len(kinds) <= 1:
        return {}
    return {
        name: f"its price is {kind}, which is not ranked beside {', '.join(commitments)}"
        for name, kind in stated.items()
        if kind is not None and kind not in commitments
    }


def currency_of(facts: CandidateFacts) -> str | None:
    """The currency of a candidate's price."""
    return None if facts.price is None else facts.price.unit.partition("/")[0]


def score(values: Values) -> float | None:
    """Return the geometric mean over launches; None where one of them has no value."""
    known = [value for value in values.values() if value is not None and value > 0]
    if not known or len(known) < len(values):
        return None
    return exp(sum(log(value) for value in known) / len(known))


def best_first(
    pool: Iterable[Contender], values: Mapping[str, Values], metric: Metric
) -> list[Contender]:
    """Return the candidates by score, those without one last; ties by the rule for ties."""

    def place(each: Contender) -> tuple[bool, float, tuple[int, float, str]]:
        found = score(values[each.name])
        worth = 0.0 if found is None else found if metric.better == "lower" else -found
        return found is None, worth, tie_order(each)

    return sorted(pool, key=place)


def tie_order(each: Contender) -> tuple[int, float, str]:
    """Fewer devices, then the lower hourly price, then the name: never the file's order."""
    hourly = each.hourly if each.hourly is not None else float("inf")
    return each.devices, hourly, each.name
