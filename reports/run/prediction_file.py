"""``prediction.json``: what was expected of each cell before anything was measured.

``prediction/<candidate>.json`` is the same after the candidate's first launch, from its cells.
Each is written before what it speaks of is measured, and never again.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from catalog.quantity import Basis
from reports.run.number import Frozen, Real

FORMAT = 1

Stage = Literal["before", "after-first-launch"]


class Range(Frozen):
    """A prediction's 10th percentile, median and 90th percentile."""

    p10: Real
    p50: Real
    p90: Real
    unit: str
    basis: Literal[Basis.PREDICTION] = Basis.PREDICTION


class LoadPrediction(Frozen):
    """What is expected at one load point, by the names of a summary's measures.

    ``unknown`` says why nothing is.
    """

    load_point: str
    figures: dict[str, Range] = Field(default_factory=dict)
    unknown: str | None = None


class StepTimesFacts(Frozen):
    """The step-time model's best coefficients, in milliseconds per unit.

    A unit of KV and of arithmetic is a byte and a FLOP on each rank where ``is_physical``,
    else a token.
    """

    constant_ms: Real
    per_sequence_ms: Real
    per_kv_ms: Real
    prefill_ms: Real
    per_flop_ms: Real
    is_physical: bool


class CandidatePrediction(Frozen):
    """What is expected of one candidate, and what that rests on.

    ``cells`` are the measured ones that the model was fitted to (paths of their records, of
    other runs with the run's name before them). ``held_rate`` is the highest rate that is
    predicted to hold the contract, per second.
    """

    candidate: str
    unknown: str | None = None
    rests_on: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    step_times: StepTimesFacts | None = None
    held_rate: Range | None = None
    loads: tuple[LoadPrediction, ...] = ()

    def load(self, name: str) -> LoadPrediction | None:
        """What is expected at a load point; None where nothing was asked."""
        return next((each for each in self.loads if each.load_point == name), None)


class PredictionFile(Frozen):
    """All predictions of one stage; ``made_at`` is before what they speak of."""

    schema_version: Literal[1] = 1
    stage: Stage
    made_at: str
    candidates: tuple[CandidatePrediction, ...]
