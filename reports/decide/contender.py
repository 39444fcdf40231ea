"""A candidate as the decision sees it: what was measured of it, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.decide.production import repetition
from reports.run.decision_file import Bracket, Standing
from reports.run.plan_file import CandidateFacts
from reports.run.summary_file import CandidateSummary, CellSummary, ClauseVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One candidate.

    ``cell`` is the one that the contract is judged at, ``held`` the highest rate that holds
    the contract and ``held_cell`` the cell that proved it. ``failed`` are replications whose
    launch failed: they count as measurements without a value.
    """

    facts: CandidateFacts
    summary: CandidateSummary | None
    cell: CellSummary | None
    standing: Standing
    why: str
    clauses: Mapping[str, ClauseVerdict] = field(default_factory=dict)
    held: Bracket | None = None
    held_cell: CellSummary | None = None
    failed: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.facts.name

    @property
    def complies(self) -> bool:
        """Whether it is proven to hold the contract."""
        return self.standing == "complies"

    @property
    def production_cell(self) -> CellSummary | None:
        """The judged cell at production clocks, valid and whole; None where it is not."""
        if self.summary is None or self.cell is None:
            return None
        return repetition(self.summary, self.cell)

    @property
    def devices(self) -> int:
        """Devices that it occupies; none of ours for an endpoint."""
        return self.facts.device_count if self.facts.kind == "launch" else 0

    @property
    def hourly(self) -> float | None:
        """Price of an hour; None where it is unknown or tokens are priced."""
        price = self.facts.price
        return price.value if price is not None and price.unit.endswith("/h") else None

    def measure(self, cell: CellSummary | None, name: str) -> dict[int, float | None]:
        """A measure by replication; None where it has no finite value."""
        if cell is None:
            return {}
        found = {each.replication: each.figures.get(name) for each in cell.replications}
        return {**dict.fromkeys(sorted(self.failed)), **found}
