"""Feed-forward parts of a layer: dense, or routed experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from catalog.architecture.tally import Tally

Touched = Literal["fewest", "expected", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """A feed-forward block; gated ones have three matrices, others two."""

    width: int
    hidden: int
    gated: bool = True
    bias: bool = False

    @property
    def kind(self) -> str:
        return "dense"

    def tally(self) -> Tally:
        """Parameters of the block: all of them serve every token."""
        inputs = 2 if self.gated else 1
        return Tally(
            linear=(inputs + 1) * self.width * self.hidden,
            vectors=(inputs * self.hidden + self.width) * self.bias,
        )

    def touched(self, batch: int, rule: Touched) -> Tally:  # noqa: ARG002
        """Parameters that one step reads."""
        return self.tally()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """Routed experts, of which each token takes ``top_k``, beside experts that all share."""

    width: int
    experts: int
    top_k: int
    hidden: int
    shared_hidden: int = 0  # width of all shared experts together
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False

    @property
    def kind(self) -> str:
        return "moe"

    def tally(self) -> Tally:
        """All parameters of the block."""
        return self._with(self.experts)

    def touched(self, batch: int, rule: Touched) -> Tally:
        """Parameters that one step of ``batch`` tokens reads (see ``distinct_experts``)."""
        return self._with(self.distinct_experts(batch, rule))

    def distinct_experts(self, batch: int, rule: Touched) -> float:
        """Distinct experts that ``batch`` tokens use.

        ``fewest``: all tokens agree, top_k. ``expected``: E(1 - (1 - top_k/E)^B), tokens
        choosing independently and evenly. ``all``: every expert.
        """
        if rule == "fewest":
            return self.top_k
        if rule == "all":
            return self.experts
        missed = (1 - self.top_k / self.experts) ** batch
        return max(float(self.top_k), self.experts * (1 - missed))

    def _with(self, count: float) -> Tally:
        bias = (2 * self.hidden + self.width) * self.expert_bias
        return Tally(
            linear=3 * self.width * self.shared_hidden,
            experts=count * 3 * self.width * self.hidden,
            routers=self.width * (self.experts + self.shared_gate),
            vectors=count * bias + self.experts * self.router_bias,
        )


Mlp = Dense | Experts
