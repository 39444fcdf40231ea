"""How long one step of an engine takes: five coefficients, never below the bound.

step = max(constant if it decodes, prefill if it computes prompts)
     + per_sequence x decoding sequences + per_kv x their KV + per_flop x arithmetic of prompts

Communication has no coefficient of its own: what an all-reduce costs whatever its size is part
of the constant, what grows with its tokens is part of the other two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catalog.predict.work import NO_FLOOR, Floor, Work

COEFFICIENTS: Final = ("constant", "per_sequence", "per_kv", "prefill", "per_flop")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Seconds per step, per sequence, per unit of KV and of arithmetic; all at least 0."""

    constant: float
    per_sequence: float
    per_kv: float
    prefill: float
    per_flop: float
    work: Work
    floor: Floor = NO_FLOOR

    def step_s(
        self, sequences: int, context: float, flops: float = 0.0, factor: float = 1.0
    ) -> float:
        """Seconds of a step; ``context`` is the tokens of KV of all its sequences.

        ``factor`` is by how much this step differs from the model; the bound stands.
        """
        base = self.constant if sequences else 0.0
        if flops and self.prefill > base:
            base = self.prefill
        model = (
            base
            + self.per_sequence * sequences
            + self.per_kv * self.work.kv_per_token * context
            + self.per_flop * flops
        )
        return max(model * factor, self.floor.step_s(sequences, context, flops))
