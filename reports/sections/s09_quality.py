"""Whether each candidate answers as well as the reference does."""

from __future__ import annotations

from typing import Any

from reports.quality_tables import agreement_table, quality_notes, task_table
from reports.report import Report
from reports.run.quality_file import QualityFile

TITLE = "Quality of answers"


def section(report: Report) -> dict[str, Any] | None:
    """Agreement and task accuracy; None where the contract asks for none and none was seen."""
    wanted = report.plan.contract.quality
    files = [
        QualityFile.model_validate(each.quality)
        for each in report.summary.candidates
        if each.quality is not None and "reference" in each.quality
    ]
    if wanted is None and not files:
        return None
    measured = {each.candidate for each in files}
    missing = [
        each.name
        for each in report.plan.candidates
        if each.measured and each.name not in measured
    ]
    return {
        "agreement": agreement_table(files) if files else None,
        "tasks": task_table(files),
        "notes": tuple(quality_notes(files)),
        "missing": _missing(missing, None if wanted is None else wanted.reference),
        "prompts": _prompts(files),
    }


def _missing(names: list[str], reference: str | None) -> str:
    if not names:
        return ""
    held = "" if reference is None else f" It is to be held against {reference}."
    return f"Quality not measured: {', '.join(names)}.{held}"


def _prompts(files: list[QualityFile]) -> str:
    if not files:
        return ""
    first = files[0]
    return (
        f"The set is {first.prompts} (SHA-256 {first.prompts_sha256[:12]}): answers of up to "
        f"{first.answer_tokens} greedy tokens, {first.concurrency} prompts in flight. A clear "
        "token is one that leads the next by half a nat where the reference speaks. Divergence "
        "is a lower bound from the likeliest tokens of both. What the reference differs from "
        "itself is the noise floor, and limits are judged above it. Of sampled answers, long "
        "contexts and chat templates nothing is said."
    )
