"""What a run's evidence comes to under a plan: checked and decided, nothing written."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from reports.checks import Evidence, checks_of
from reports.decide import decide
from reports.gathered import Gathered
from reports.run.checks_file import Checks
from reports.run.decision_file import Decision
from reports.run.summary_file import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What was measured, what the checks found, and what was decided."""

    summary: Summary
    checks: Checks
    decision: Decision


def concluded(files: Gathered, summary: Summary, now: dt.datetime) -> Conclusion:
    """Check and decide what was summarised, by the plan that the files hold."""
    checks = checks_of(Evidence(files=files, summary=summary, today=now.date()))
    return Conclusion(
        summary=summary, checks=checks, decision=decide(files.plan, summary, checks, now)
    )
