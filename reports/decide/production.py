"""What a candidate's tokens cost at the clocks at which it would serve.

Candidates are compared at locked clocks, which are alike for all. The repetition of the
winner's decision cell at free ones gives its cost and nothing else: no clause on latency or
goodput, no rate, no level, no rank.
"""

from __future__ import annotations

from reports.run.plan_file import PRODUCTION
from reports.run.summary_file import CandidateSummary, CellSummary
from reports.telemetry.production import is_repetition


def own_cells(found: CandidateSummary) -> tuple[CellSummary, ...]:
    """Return the candidate's cells without those at production clocks."""
    return tuple(each for each in found.cells if not is_repetition(each.load_point))


def repetition(found: CandidateSummary, cell: CellSummary) -> CellSummary | None:
    """Return the cell at production clocks; None where it is not valid and whole.

    Whole: every replication of the cell was repeated. Fewer would have a wider interval than
    the claim.
    """
    repeated = found.cell(f"{cell.load_point}{PRODUCTION}")
    if repeated is None or repeated.verdict != "valid":
        return None
    there = {each.replication for each in repeated.replications}
    return repeated if there >= {each.replication for each in cell.replications} else None


def is_locked(cell: CellSummary) -> bool:
    """Return whether any device had a clock to keep to."""
    return any(
        device.get("target_mhz") is not None
        for each in cell.replications
        for device in ((each.telemetry or {}).get("devices") or {}).values()
    )
