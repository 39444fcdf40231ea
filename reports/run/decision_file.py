"""``decision.json``: who won, why, by how much, and what would change it.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from reports.run.number import Frozen, Number, Real
from reports.run.summary_file import ClauseVerdict

FORMAT = 1

Outcome = Literal[
    "chosen",
    "no difference shown",
    "depends on demand",
    "none complies",
    "inconclusive",
    "nothing measured",
]
Standing = Literal[
    "complies",
    "misses",
    "inconclusive",
    "needs quality proof",
    "no valid evidence",
    "failed",
    "not measured",
    "voted out on paper",
]
Word = Literal["better", "worse", "no difference shown"]
Stamp = Literal["ESTIMATE", "EXPLORATORY", "REHEARSAL", "IMPORTED", "MEASURED", "SIGNED"]


class Bracket(Frozen):
    """The highest rate that holds the contract: [highest proven, lowest disproven], per s."""

    highest_proven: Real | None
    lowest_disproven: Real | None


class Limiter(Frozen):
    """What limits a candidate, as measured / means / do / verify."""

    what: Literal["ttft", "itl", "kv memory", "saturation", "client", "cap", "nothing seen"]
    measured: str
    means: str
    do: str
    verify: str


class Ranked(Frozen):
    """One candidate's place. Money is of whole instances; None is unknown.

    ``unsignable`` are reasons for which a decision for this candidate cannot be signed.
    """

    name: str
    rank: int | None
    standing: Standing
    why: str
    clauses: dict[str, ClauseVerdict] = Field(default_factory=dict)
    decision_point: str | None = None
    usd_per_1m: Number | None = None
    usd_per_1m_at_held: Number | None = None
    compliant_tok_per_machine_hour: Number | None = None
    held_rate: Bracket | None = None
    instances: int | None = None
    monthly_usd: Number | None = None
    limiter: Limiter | None = None
    unsignable: tuple[str, ...] = ()


class Comparison(Frozen):
    """A candidate against another in one metric; ``ratio`` above 1 is more of the metric."""

    candidate: str
    against: str
    metric: str
    ratio: Number
    margin: Real
    p: Real | None = None
    p_adjusted: Real | None = None
    word: Word
    paired: bool = True
    why: str = ""


class Flip(Frozen):
    """What would change the decision: a price, a load, a limit."""

    what: Literal["price", "load", "ttft limit", "itl limit", "goodput target", "demand"]
    candidate: str
    now: Number | None
    flips_at: Number | None
    sentence: str


class Decision(Frozen):
    """The verdict of a campaign.

    ``sentence`` says it in one sentence; ``rule`` lists the steps that made it, in order;
    ``blockers`` what stands between it and a signoff. ``exit_code`` is that of ``compare``.
    Where nobody is chosen because no difference was shown, ``tie_break`` is whom the rule for
    ties names: a choice, not a finding. ``winner`` is either of the two.
    """

    schema_version: Literal[1] = 1
    method_version: int
    outcome: Outcome
    chosen: str | None
    tie_break: str | None = None
    sentence: str
    because: tuple[str, ...] = ()
    runner_up: str | None = None
    gap: Comparison | None = None
    ranked_by: str
    ranking: tuple[Ranked, ...]
    comparisons: tuple[Comparison, ...] = ()
    flips: tuple[Flip, ...] = ()
    crossover: Number | None = None
    rule: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    stamp: Stamp
    exit_code: int
    money_not_spent: Number | None = None

    @property
    def winner(self) -> str | None:
        """Whom the evidence or else the rule for ties names."""
        return self.chosen or self.tie_break

    def of(self, name: str) -> Ranked:
        """The candidate's place; raises KeyError."""
        for each in self.ranking:
            if each.name == name:
                return each
        raise KeyError(name)
