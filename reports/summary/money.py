"""What tokens cost: the price of the whole instance over what it delivered."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from reports.run.plan_file import CandidateFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """A candidate's price: of an hour, or of a million output tokens; None is unknown."""

    currency: str = "USD"
    per_hour: float | None = None
    per_mtok: float | None = None

    def per_1m(self, output: float | None, bought: float | None) -> float | None:
        """Return the cost of a million of the tokens that are wanted.

        Parameters
        ----------
        output, bought
            Tokens per second that came, and those of them that count. All of the former are
            paid for where tokens are priced.
        """
        if bought is None or output is None:
            return None
        if bought <= 0:
            return inf
        if self.per_hour is not None:
            return self.per_hour / (bought * 3600) * 1e6
        return None if self.per_mtok is None else self.per_mtok * output / bought


def costs_of(
    facts: CandidateFacts, output: float | None, compliant: float | None
) -> dict[str, float | None]:
    """Return what a million of all tokens and of compliant ones cost, by the measures' names.

    Infinite without a token to divide by; nothing where the price is not known. ``output``
    and ``compliant`` are tokens per second of one launch.
    """
    money = money_of(facts)
    if money.per_hour is None and money.per_mtok is None:
        return {}
    return {
        "usd_per_1m_output": money.per_1m(output, output),
        "usd_per_1m_compliant": money.per_1m(output, compliant),
    }


def price_note(facts: CandidateFacts) -> str | None:
    """Return at which price a cost is meant."""
    if facts.price is None:
        return None
    return f"at {facts.price.value:g} {facts.price.unit} ({facts.price.basis.value})"


def money_of(facts: CandidateFacts) -> Money:
    """Return the candidate's price; that of an hour is the whole instance's."""
    if facts.price is None:
        return Money()
    currency, _, per = facts.price.unit.partition("/")
    if per == "h":
        return Money(currency=currency, per_hour=facts.price.value)
    return Money(currency=currency, per_mtok=facts.price.value)
