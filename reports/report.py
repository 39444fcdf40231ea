"""All that a report is made from: one run's files as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog.calibration.file import CalibrationFile
from catalog.screen import Screen
from reports.history.facts import RunFacts
from reports.run.baseline_file import Baseline
from reports.run.checks_file import Checks
from reports.run.control_file import ControlFile
from reports.run.decision_file import Decision, Ranked, Stamp
from reports.run.host_file import HostFile
from reports.run.plan_file import CandidateFacts, RunPlan
from reports.run.prediction_file import PredictionFile
from reports.run.prediction_score_file import PredictionScore
from reports.run.reevaluation_file import Reevaluation
from reports.run.search_file import SearchFile
from reports.run.signoff_file import Signoff
from reports.run.summary_file import CandidateSummary, CellSummary, Summary
from reports.thin import Thin

LaunchKey = tuple[str, int]  # candidate, replication


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run. The same values give the same bytes of every page.

    ``screen`` is the paper vote (None where the run has none), with what ``calibrations`` have
    measured; ``screen_before`` the one that the plan was made by, where it was put again;
    ``launches`` what each launch
    has shown, ``thin`` the decision cells' requests with a few columns each, ``signoff`` the
    approval where there is one, ``manifest`` the SHA-256 of the manifest, ``files`` that of
    each file which it lists. ``reevaluation`` is the answer of a run that re-evaluates
    another, ``baseline`` what that one was; ``history`` are comparable runs, oldest first,
    this one the last (none where there were none before it).
    """

    plan: RunPlan
    summary: Summary
    decision: Decision
    checks: Checks
    manifest: str
    hosts: tuple[HostFile, ...] = ()
    controls: tuple[ControlFile, ...] = ()
    searches: Mapping[str, SearchFile] = field(default_factory=dict)
    predictions: tuple[PredictionFile, ...] = ()
    prediction_score: PredictionScore | None = None
    screen: Screen | None = None
    screen_before: Screen | None = None
    calibrations: tuple[CalibrationFile, ...] = ()
    launches: Mapping[LaunchKey, Mapping[str, Any]] = field(default_factory=dict)
    thin: Mapping[LaunchKey, Thin] = field(default_factory=dict)
    signoff: Signoff | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    baseline: Baseline | None = None
    reevaluation: Reevaluation | None = None
    history: tuple[RunFacts, ...] = ()

    @property
    def stamp(self) -> Stamp:
        """How far the run can be trusted; SIGNED once a person approved this manifest."""
        return "SIGNED" if self.is_signed else self.decision.stamp

    @property
    def is_signed(self) -> bool:
        """Whether the approval is of exactly this manifest, and of a run that can have one."""
        return self.signoff is not None and self.signoff.approves(self.decision, self.manifest)

    @property
    def places(self) -> tuple[Ranked, ...]:
        """Candidates in the order of the decision: ranked ones first, then as they came."""
        ranking = self.decision.ranking
        return tuple(sorted(ranking, key=lambda each: (each.rank is None, each.rank or 0)))

    def facts(self, name: str) -> CandidateFacts | None:
        """What the plan says of a candidate; None for a name that it does not hold."""
        return next((each for each in self.plan.candidates if each.name == name), None)

    def measured(self, name: str) -> CandidateSummary | None:
        """What was measured of a candidate."""
        return self.summary.candidate(name)

    def decision_point(self, name: str) -> str | None:
        """The load point that a candidate is judged at."""
        ranked = next((each for each in self.decision.ranking if each.name == name), None)
        return (ranked.decision_point if ranked else None) or self.plan.matrix.decision_point

    def decision_cell(self, name: str) -> CellSummary | None:
        """The cell that a candidate is judged by; None where it was not measured."""
        measured, point = self.measured(name), self.decision_point(name)
        return measured.cell(point) if measured is not None and point is not None else None
