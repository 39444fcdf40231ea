"""Files of questions that lie beside a campaign's file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flows.budget.quality import Task
from flows.budget.times import Range
from flows.errors import UsageError

if TYPE_CHECKING:
    from flows.quality.questions import Questions

PREFIX: Final = "file:"


def beside(campaign: Path, name: str) -> Path:
    """The file of a task's questions: beside the campaign's, or where the user is.

    A run is gone on with from the copy of its campaign file.
    """
    stated = name.removeprefix(PREFIX).strip()
    place = campaign.parent / stated
    return place if place.is_file() else Path(stated)


def own_tasks(names: Iterable[str], campaign: Path) -> dict[str, Task]:
    """Those tasks that are files, as far as they can be read, counted."""
    found = {}
    for name in names:
        if name.startswith(PREFIX):
            from flows.quality.questions import read_questions  # noqa: PLC0415 - with pyarrow

            with suppress(UsageError):  # it is told before the start of a campaign
                found[name] = counted(read_questions(beside(campaign, name)))
    return found


def counted(file: Questions) -> Task:
    """How many questions a file holds, and whether letters answer them."""
    count = len(file.rows)
    return Task(questions=Range(count, count), is_letter=file.has_choices)
