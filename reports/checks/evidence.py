"""What the rules look at, and how most of them say what they saw: one check per cell."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.gathered import Gathered, Replication
from reports.run.checks_file import Check, CheckVerdict
from reports.run.plan_file import CandidateFacts
from reports.run.summary_file import CandidateSummary, CellSummary, ReplicationSummary, Summary
from reports.telemetry.production import is_repetition

Seen = tuple[CheckVerdict, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A run's small files and its summary; ``today`` is the day of the judgement."""

    files: Gathered
    summary: Summary
    today: dt.date

    def measured(self) -> Iterator[tuple[CandidateFacts, CandidateSummary]]:
        """Every candidate of which something was to be measured."""
        for found in self.summary.candidates:
            yield self.files.plan.candidate(found.name), found

    def cells(self) -> Iterator[Cell]:
        """Every measured cell with the files of its replications."""
        for facts, found in self.measured():
            for cell in found.cells:
                yield Cell(
                    facts=facts,
                    summary=cell,
                    replications=tuple(
                        each
                        for each in self.files.of(facts.name)
                        if each.measured.name.key == cell.key
                        and each.load_point == cell.load_point
                    ),
                    decides=self.decides(cell),
                )

    def decides(self, cell: CellSummary) -> bool:
        """Whether the contract is judged at this cell's load; offline: every closed one."""
        if is_repetition(cell.load_point):
            return False
        decision_point = self.files.plan.matrix.decision_point
        if decision_point is None:
            return cell.point is not None and not cell.point.is_open
        return cell.load_point == decision_point


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured cell; ``decides``: the contract is judged at its load."""

    facts: CandidateFacts
    summary: CellSummary
    replications: tuple[Replication, ...]
    decides: bool

    def check(
        self,
        name: str,
        requirement: str,
        needed: str,
        seen: Seen,
        *,
        decisive: bool = False,
        waivable: bool = True,
    ) -> Check:
        """Return the check of this cell; a decisive one is so where the cell decides."""
        verdict, observed = seen
        return Check(
            id=name,
            requirement=requirement,
            observed=observed,
            needed=needed,
            verdict=verdict,
            candidate=self.facts.name,
            load_point=self.summary.load_point,
            decisive=decisive and self.decides,
            waivable=waivable,
            evidence=tuple(each.records for each in self.summary.replications),
        )

    def documents(self) -> Iterator[Mapping[str, Any]]:
        """The replications' objects as ``bench --json`` has them."""
        for each in self.summary.replications:
            yield each.document

    def problems(self, *concerns: str) -> list[str]:
        """What was seen of these concerns, with the number of its replication's files."""
        return [
            f"replication {each.replication}: {found['seen']}"
            for each in self.summary.replications
            for found in each.document["problem_details"]
            if found["problem"] in concerns
        ]


def without_problems(cell: Cell, concerns: tuple[str, ...], fine: str) -> Seen:
    """Fail with what was seen of the concerns, pass with words where there was nothing."""
    found = cell.problems(*concerns)
    return ("fail", "; ".join(found)) if found else ("pass", fine)


def span(values: list[float], form: Callable[[float], str]) -> str:
    """Smallest and largest of values over launches, or the one that all have."""
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def value_of(each: ReplicationSummary, *path: str) -> Any:
    """A value of a replication's document; None where a part of the way is missing."""
    found: Any = each.document
    for step in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(step)
    return found


def values_of(cell: Cell, *path: str) -> list[float]:
    """The values of all replications' documents that are known."""
    found = [value_of(each, *path) for each in cell.summary.replications]
    return [float(value) for value in found if value is not None]
