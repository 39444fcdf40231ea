"""One measured cell, from request columns to verdict: pure computation.

`summarise` takes the requests of one replication, what the cell was asked to be, and what
the run says of itself; the summary's `to_json` is the JSON object of `bench --json`.
"""

from reports.cell.problems import Concern, Problem, Verdict
from reports.cell.settings import CellSettings, ClientHealth, Observed, ServerWatch, Slo
from reports.cell.summary import CellSummary, summarise

__all__ = [
    "CellSettings",
    "CellSummary",
    "ClientHealth",
    "Concern",
    "Observed",
    "Problem",
    "ServerWatch",
    "Slo",
    "Verdict",
    "summarise",
]
