"""The re-evaluation: whether the baseline's decision stands, why not, and what differs."""

from __future__ import annotations

from typing import Any, Final

from reports.figures.forest import WORD_MEANING, interval_of
from reports.metric_names import metric_name
from reports.number_words import p_words
from reports.report import Report
from reports.run.baseline_file import Baseline
from reports.run.decision_file import Comparison
from reports.run.reevaluation_file import Answer, Change, Reevaluation
from reports.tables import Cell, Column, Meaning, Table

TITLE = "Re-evaluation"
MEANING: Final[dict[Answer, Meaning]] = {
    "still valid": "pass",
    "regression": "fail",
    "decision changed": "fail",
    "inconclusive": "warn",
}
_COMPARED: Final = (
    Column(title="Candidate"),
    Column(title="Against"),
    Column(title="Metric"),
    Column(title="Ratio", unit="low–middle–high", right=True),
    Column(title="p adjusted", unit="Holm", right=True),
    Column(title="Word"),
    Column(title="How"),
)
_CHANGED: Final = tuple(
    Column(title=title) for title in ("Kind", "Candidate", "What", "Baseline", "Now")
)


def section(report: Report) -> dict[str, Any] | None:
    """None for a run that re-evaluates no other."""
    answer, baseline = report.reevaluation, report.baseline
    if answer is None or baseline is None:
        return None
    return {
        "answer": answer.answer,
        "meaning": MEANING[answer.answer],
        "sentence": answer.sentence,
        "baseline": baseline_line(baseline),
        "asked": _asked(baseline),
        "reasons": tuple(f"{each.kind}: {each.sentence}." for each in answer.reasons),
        "notes": answer.notes,
        "warnings": answer.warnings,
        "compared": _compared(answer),
        "changed": _changed(answer),
        "exit_code": answer.exit_code,
    }


def baseline_line(baseline: Baseline) -> str:
    """What was pinned: the run, its day, its manifest, its stamp and its decision."""
    signed = f", signed by {', '.join(baseline.signed_by)}" if baseline.signed_by else ""
    until = f", valid until {baseline.valid_until}" if baseline.valid_until else ""
    return (
        f"Run {baseline.run} of {baseline.created_at[:10]}, {baseline.stamp}{signed}{until}, "
        f"manifest {baseline.manifest_sha256}: {baseline.sentence}"
    )


def _asked(baseline: Baseline) -> str:
    releases = {
        "latest-known": "Candidates run the newest releases that the catalog knows.",
        "pinned": "Candidates run the releases that the campaign file or the baseline states.",
    }[baseline.versions]
    if baseline.champion is None:
        who = f"{baseline.control} is the baseline's winner; today's file has it no more."
    elif baseline.champion == baseline.control:
        who = f"{baseline.control} is configured as in the baseline, and is its own control."
    else:
        who = (
            f"{baseline.control} has the exact configuration of the baseline's winner; "
            f"{baseline.champion} is the same candidate as it would be started today."
        )
    return f"{releases} {who}"


def _compared(answer: Reevaluation) -> Table | None:
    rows = tuple(_comparison(each) for each in (*answer.versions, *answer.since))
    return (
        Table(title="Held against the baseline", columns=_COMPARED, rows=rows) if rows else None
    )


def _comparison(each: Comparison) -> tuple[Cell, ...]:
    how = "paired by launch, in this run" if each.paired else "across the two runs"
    return (
        Cell(text=each.candidate),
        Cell(text=each.against),
        Cell(text=metric_name(each.metric)),
        Cell(text=interval_of(each.ratio)),
        Cell(text=p_words(each.p_adjusted)),
        Cell(text=each.word, meaning=WORD_MEANING.get(each.word, ""), detail=each.why),
        Cell(text=f"{how}, ±{each.margin * 100:g}%"),
    )


def _changed(answer: Reevaluation) -> Table | None:
    rows = tuple(_change(each) for each in answer.changes)
    if not rows:
        return None
    return Table(title="What differs from the baseline", columns=_CHANGED, rows=rows)


def _change(each: Change) -> tuple[Cell, ...]:
    return (
        Cell(text=each.kind),
        Cell(text=each.candidate or "the contract"),
        Cell(text=each.what),
        Cell(text=each.before or "not known"),
        Cell(text=each.now or "not known"),
    )
