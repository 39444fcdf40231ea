"""A verdict on quality as tables, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from catalog.quantity import significant
from reports.number_words import DASH
from reports.run.quality_file import AgreementFound, LossFound, QualityFile, TaskFound
from reports.tables import Cell, Column, Meaning, Table

MEANING: dict[str, Meaning] = {"holds": "pass", "misses": "fail", "inconclusive": "warn"}
_MARK = {"holds": "✓ holds", "misses": "✗ misses", "inconclusive": "? inconclusive"}
_AGREEMENT = (
    Column(title="Candidate"),
    Column(title="Quality"),
    Column(title="Identical answers", unit="of prompts", right=True),
    Column(title="First token", unit="% equal", right=True),
    Column(title="Clear tokens", unit="% equal", right=True),
    Column(title="Above the noise", unit="points", right=True),
    Column(title="Divergence", unit="nats, at least", right=True),
    Column(title="Answers part", unit="after tokens", right=True),
    Column(title="Why"),
)
_TASKS = (
    Column(title="Candidate"),
    Column(title="Task"),
    Column(title="Questions", right=True),
    Column(title="Reference", unit="%", right=True),
    Column(title="Accuracy", unit="%", right=True),
    Column(title="Lost", unit="points", right=True),
    Column(title="Allowed", unit="points", right=True),
    Column(title="Detectable", unit="points", right=True),
    Column(title="Verdict"),
)


def agreement_table(files: Sequence[QualityFile]) -> Table:
    """One row for each candidate; what is detectable and the noise stand below the figures."""
    rows = tuple(_agreement(each) for each in files)
    return Table(title="Answers against the reference's", columns=_AGREEMENT, rows=rows)


def task_table(files: Sequence[QualityFile]) -> Table | None:
    """One row for each task of each candidate; None where no task was measured."""
    rows = tuple(_task(each, task) for each in files for task in each.tasks)
    return Table(title="Task accuracy", columns=_TASKS, rows=rows) if rows else None


def quality_notes(files: Sequence[QualityFile]) -> Iterator[str]:
    """What was compared with, and what could not be measured."""
    for reference in dict.fromkeys(each.reference for each in files):
        about = [reference.precision, reference.runtime, reference.version]
        known = ", ".join(part for part in about if part)
        kept = "; its answers were kept from an earlier run" if reference.stored else ""
        yield f"Reference: {reference.name}{f' ({known})' if known else ''}{kept}."
    for file in files:
        for reason in file.left_out:
            yield f"{file.candidate}: {reason}."


def _agreement(file: QualityFile) -> tuple[Cell, ...]:
    verdict = Cell(text=_MARK[file.verdict], meaning=MEANING[file.verdict])
    found = file.agreement
    if found is None:
        silent = (Cell(text=DASH, meaning="none"),) * 6
        return (Cell(text=file.candidate), verdict, *silent, Cell(text=file.why))
    return (
        Cell(text=file.candidate, detail="the reference" if file.is_reference else ""),
        verdict,
        Cell(
            text=f"{found.identical:,} of {found.prompts:,}",
            detail=f"reference with itself {found.identical_again:,}",
        ),
        _share(found.first, found.first_again),
        _share(found.clear, found.clear_again),
        _points(found.clear_excess),
        _nats(found),
        _parted(found),
        Cell(text=file.why),
    )


def _task(file: QualityFile, task: TaskFound) -> tuple[Cell, ...]:
    return (
        Cell(text=file.candidate),
        Cell(text=task.task, detail=f"{task.kind}, {task.metric}"),
        Cell(text=f"{task.questions:,}"),
        _accuracy(task.reference, task.reference_stderr),
        _accuracy(task.candidate, task.candidate_stderr),
        _points(task.loss),
        Cell(text=significant(task.limit * 100)),
        Cell(
            text=DASH
            if task.loss.detectable is None
            else significant(task.loss.detectable * 100),
            detail=""
            if task.needed is None or task.verdict != "inconclusive"
            else f"about {task.needed:,} questions prove no loss",
        ),
        Cell(text=_MARK[task.verdict], meaning=MEANING[task.verdict]),
    )


def _share(value: float | None, again: float | None) -> Cell:
    if value is None or again is None:
        return Cell(text=DASH, meaning="none")
    return Cell(text=significant(value * 100), detail=f"with itself {significant(again * 100)}")


def _accuracy(value: float, error: float | None) -> Cell:
    detail = "" if error is None else f"± {significant(error * 100)} (standard error)"
    return Cell(text=significant(value * 100), detail=detail)


def _points(found: LossFound) -> Cell:
    if found.mean is None:
        return Cell(text=DASH, meaning="none")
    return Cell(text=_signed(found.mean * 100), detail=_limits(found, 100))


def _nats(found: AgreementFound) -> Cell:
    if found.kl is None or found.kl_again is None:
        return Cell(text=DASH, meaning="none")
    smallest = found.kl_excess.detectable
    shown = "" if smallest is None else f"; {significant(smallest)} detectable"
    listed = "" if found.listed is None else f"; lists hold {significant(found.listed * 100)}%"
    return Cell(
        text=significant(found.kl),
        detail=f"with itself {significant(found.kl_again)}{shown}{listed}",
    )


def _parted(found: AgreementFound) -> Cell:
    if found.parted_at is None:
        return Cell(text="never")
    again = "never" if found.parted_at_again is None else significant(found.parted_at_again)
    return Cell(text=significant(found.parted_at), detail=f"with itself {again}")


def _limits(found: LossFound, scale: float) -> str:
    if found.low is None or found.high is None:
        return "too few for limits"
    span = f"{_signed(found.low * scale)} to {_signed(found.high * scale)}"
    least = "" if found.detectable is None else f"; {significant(found.detectable * scale)}"
    return f"95% {span}{least and least + ' detectable'}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else ''}{significant(abs(value))}"
