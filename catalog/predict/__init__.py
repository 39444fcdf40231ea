"""What a candidate will show at a load, before it is measured.

A calibrated model of step times and an iteration-level simulation of continuous batching.
A prediction never rejects anything: it says where to look first, and what to expect.
"""

from catalog.predict.capacity import capacity
from catalog.predict.engine import Engine, Policy
from catalog.predict.fit import Fitted, fitted
from catalog.predict.load import Load
from catalog.predict.observe import Rows, Seen, rows_of
from catalog.predict.outcome import Limits
from catalog.predict.predict import Interval, Predicted, Question, predicted
from catalog.predict.prior import Prior, prior_of
from catalog.predict.steps import StepTimes
from catalog.predict.work import NO_FLOOR, TOKENS, Floor, Work, floor_of, work_of

__all__ = [
    "NO_FLOOR",
    "TOKENS",
    "Engine",
    "Fitted",
    "Floor",
    "Interval",
    "Limits",
    "Load",
    "Policy",
    "Predicted",
    "Prior",
    "Question",
    "Rows",
    "Seen",
    "StepTimes",
    "Work",
    "capacity",
    "fitted",
    "floor_of",
    "predicted",
    "prior_of",
    "rows_of",
    "work_of",
]
