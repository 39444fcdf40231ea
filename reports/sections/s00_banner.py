"""The stamp, the question in one line, the verdict in one sentence, and how long it is good."""

from __future__ import annotations

from typing import Any

from reports.contract_words import limits_line
from reports.report import Report
from reports.validity import events, valid_until

TITLE = "Verdict in brief"
_MEANS = {
    "ESTIMATE": "Nothing was measured: this is a vote on paper.",
    "EXPLORATORY": "Too few launches, requests or seconds to be signed: a first look.",
    "REHEARSAL": "Every figure is a simulation: no hardware was measured.",
    "IMPORTED": "Measured by another tool: it can be compared and never signed.",
    "MEASURED": "Measured on the target; a person has not approved it yet.",
    "SIGNED": "A person has approved exactly this manifest.",
}


def section(report: Report) -> dict[str, Any]:
    """What stands above everything else."""
    plan = report.plan
    until = valid_until(plan, report.decision)
    return {
        "stamp": report.stamp,
        "means": _MEANS[report.stamp],
        "campaign": plan.campaign,
        "run": plan.run,
        "date": plan.created_at[:10],
        "method": plan.method_version,
        "fingerprint": report.manifest[:8],
        "question": plan.question or f"Which candidate keeps the contract {plan.campaign}?",
        "limits": limits_line(plan.contract),
        "sentence": report.decision.sentence,
        "valid_until": None if until is None else until.isoformat(),
        "again": events(plan, report.decision),
        "reevaluation": None if report.reevaluation is None else report.reevaluation.sentence,
        "baseline": None if report.baseline is None else report.baseline.run,
        "interrupted": report.summary.interrupted,
    }
