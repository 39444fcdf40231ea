"""The decision as a record in Markdown that a team commits beside its code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.contract_words import arrivals_line, limits_line, workload_lines
from reports.html import markdown_page
from reports.metric_names import statistic_name
from reports.number_words import number_phrase
from reports.run.decision_file import Decision, Ranked
from reports.run.plan_file import RunPlan
from reports.run.signoff_file import Signoff
from reports.sections.s01_decision import gap_sentence
from reports.validity import rerun_when, valid_until


def decision_record(
    plan: RunPlan, decision: Decision, signoff: Signoff | None, manifest_sha256: str
) -> str:
    """The record; it is accepted where somebody has approved exactly this manifest."""
    is_signed = signoff is not None and signoff.approves(decision, manifest_sha256)
    until = valid_until(plan, decision)
    approvals = signoff.approvals if signoff is not None and is_signed else ()
    context: dict[str, Any] = {
        "title": _title(plan, decision),
        "status": "accepted" if is_signed else "proposed: not signed",
        "date": plan.created_at[:10],
        "run": f"{plan.campaign}/{plan.run}",
        "manifest": manifest_sha256,
        "stamp": "SIGNED" if is_signed else decision.stamp,
        "valid_until": until.isoformat() if until is not None else "no date: see below",
        "question": plan.question or f"Which candidate serves {plan.contract.model}?",
        "workload": tuple(workload_lines(plan.contract)),
        "arrivals": arrivals_line(plan.matrix),
        "limits": limits_line(plan.contract),
        "sentence": decision.sentence,
        "because": (*map(statistic_name, decision.because), *_gap(decision)),
        "rows": tuple(
            {
                "name": each.name,
                "standing": _standing(each, decision),
                "cost": number_phrase(each.usd_per_1m),
                "why": statistic_name(each.why),
            }
            for each in decision.ranking
        ),
        "rerun_when": rerun_when(plan, decision),
        "doubts": tuple(_doubts(decision, signoff if is_signed else None)),
        "approvals": approvals,
    }
    return markdown_page("decision_record.md.j2", context)


def _gap(decision: Decision) -> tuple[str, ...]:
    return () if decision.gap is None else (gap_sentence(decision.gap),)


def _title(plan: RunPlan, decision: Decision) -> str:
    if decision.winner is None:
        return f"{plan.campaign}: {decision.outcome}"
    by_rule = "" if decision.chosen else " (a tie, taken by rule)"
    return f"{plan.campaign}: serve {plan.contract.model} with {decision.winner}{by_rule}"


def _standing(each: Ranked, decision: Decision) -> str:
    if each.name == decision.chosen:
        return "chosen"
    return "taken by rule" if each.name == decision.tie_break else each.standing


def _doubts(decision: Decision, signoff: Signoff | None) -> Iterator[str]:
    yield from decision.blockers
    for waiver in signoff.waivers if signoff is not None else ():
        yield f"Waived: {waiver.check}: {waiver.reason}"
    for name in signoff.unknown if signoff is not None else ():
        yield f"Could not be judged: {name}"
    if not decision.blockers and (signoff is None or not (signoff.waivers or signoff.unknown)):
        yield "None."
