"""Predictions of a campaign: what is known of each candidate, and what that makes of a load."""

from flows.predicting.earlier import earlier_cells
from flows.predicting.foresight import (
    Cell,
    foreseen,
    held_rate,
    rows_of_records,
)
from flows.predicting.known import Known, known_of

__all__ = [
    "Cell",
    "Known",
    "earlier_cells",
    "foreseen",
    "held_rate",
    "known_of",
    "rows_of_records",
]
