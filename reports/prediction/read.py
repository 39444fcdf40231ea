"""The predictions that lie in a run directory."""

from __future__ import annotations

from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.prediction_file import PredictionFile
from reports.run.prediction_score_file import PredictionScore
from reports.run.read import read_file


def predictions_of(folder: RunFolder) -> tuple[PredictionFile, ...]:
    """Those made before the first step, then those from first launches.

    Raises
    ------
    ReportsError
        For a file that cannot be read.
    """
    before = folder.file(layout.PREDICTION)
    later = sorted(folder.prediction("*").parent.glob("*.json"))
    return tuple(read_file(path, PredictionFile) for path in (before, *later) if path.is_file())


def score_of(folder: RunFolder) -> PredictionScore | None:
    """How far they were off, as it was concluded; None where nothing was predicted."""
    path = folder.file(layout.PREDICTION_SCORE)
    return read_file(path, PredictionScore) if path.is_file() else None
