"""``search/<candidate>.json``: how the highest rate that holds the contract was looked for.

The search has launches and seeds of its own; what it found is proven (or not) by the cells at
``proof``, on launches and seeds that the search did not use.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.number import Frozen, Real
from reports.run.plan_file import LoadPoint
from reports.run.prediction_file import Range

FORMAT = 1


class Try(Frozen):
    """One searched rate, what its cell said, and its records (relative to the run).

    ``predicted`` is the highest rate that was expected to hold before it was tried.
    """

    rate_per_s: Real
    predicted: Range | None = None
    verdict: Literal["holds", "misses", "inconclusive", "no valid evidence"]
    records: str


class SearchFile(Frozen):
    """The search of one candidate; ``proof`` are the load points measured after it."""

    schema_version: Literal[1] = 1
    candidate: str
    tries: tuple[Try, ...]
    highest_held: Real | None
    lowest_missed: Real | None
    proof: tuple[LoadPoint, ...]
    why_ended: str
