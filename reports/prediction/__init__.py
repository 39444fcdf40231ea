"""Predictions and measurements: what records tell the model, and how far it was off."""

from reports.prediction.read import predictions_of, score_of
from reports.prediction.score import scored
from reports.prediction.seen import seen_of

__all__ = ["predictions_of", "score_of", "scored", "seen_of"]
