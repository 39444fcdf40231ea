"""``prediction_score.json``: how far predictions were from what was then measured.

Derived from the predictions and the summary alone.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.number import Frozen, Real
from reports.run.prediction_file import Stage

FORMAT = 1


class FigureScore(Frozen):
    """One figure of one cell: predicted, measured, and predicted less measured.

    ``error`` is a share of what was measured, of ``goodput`` the plain difference. ``inside``
    says whether the measurement lies from P10 to P90.
    """

    stage: Stage
    candidate: str
    load_point: str
    figure: str
    unit: str
    p10: Real
    p50: Real
    p90: Real
    measured: Real
    error: Real
    inside: bool


class FigureTotal(Frozen):
    """A figure over all cells of a stage.

    ``median_error`` is of the sizes of the errors, ``bias`` the median of the errors with
    their signs (above 0: predictions were too high), ``inside`` the share of measurements
    between P10 and P90, of which 0.8 would be right.
    """

    stage: Stage
    figure: str
    cells: int
    median_error: Real
    largest_error: Real
    bias: Real
    inside: Real


class PredictionScore(Frozen):
    """All predictions of a run against its measurements.

    ``unknown`` were not predicted. ``unscored`` were, but launches have no such figure (their
    percentile lies among failures) or are no evidence.
    """

    schema_version: Literal[1] = 1
    figures: tuple[FigureScore, ...]
    totals: tuple[FigureTotal, ...]
    unknown: tuple[str, ...] = ()
    unscored: tuple[str, ...] = ()
