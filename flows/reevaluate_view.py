"""The end of a re-evaluation on a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from flows.compare_view import show_outcome
from flows.console import Console
from flows.reevaluate import Reevaluated
from reports.run.reevaluation_file import Change, Reevaluation


def show_answer(found: Reevaluated, stream: TextIO) -> None:
    """What was measured, what differs from the baseline, the answer, and where it lies."""
    if found.outcome is not None:
        show_outcome(found.outcome, stream)
        stream.write("\n")
    Console(stream).paragraphs([*lines_of(found.answer), f"answer   {found.file}"])


def lines_of(answer: Reevaluation) -> Iterator[str]:
    """The answer in sentences, what it is of first."""
    yield f"{answer.stamp}: re-evaluation of {answer.baseline}"
    yield answer.sentence
    yield from answer.notes
    yield from (f"differs: {change_words(each)}" for each in answer.changes)
    yield from (f"note: {each}" for each in answer.warnings)


def change_words(change: Change) -> str:
    """What differs, from what, to what."""
    whose = "the contract" if change.candidate is None else change.candidate
    before, now = change.before or "not known", change.now or "not known"
    return f"{whose}, {change.what}: {before} → {now}"
