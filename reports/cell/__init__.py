"""One measured cell, from request columns to verdict: pure computation.

`summarise` takes the requests of one replication, what the cell was asked to be, and what
the run says of itself; the summary's `to_json` is the JSON object of `bench --json`.
"""

from reports.cell.account import observed_of, with_accounts
from reports.cell.document import CellSummary
from reports.cell.problems import Concern, Problem, Verdict
from reports.cell.settings import CellSettings, ClientHealth, Observed, ServerWatch, Slo
from reports.cell.summary import Judged, judge, summarise

__all__ = [
    "CellSettings",
    "CellSummary",
    "ClientHealth",
    "Concern",
    "Judged",
    "Observed",
    "Problem",
    "ServerWatch",
    "Slo",
    "Verdict",
    "judge",
    "observed_of",
    "summarise",
    "with_accounts",
]
