"""The quality records of a run, judged again from their tables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reports.quality.tables import answers_name, read_answers, read_samples, samples_name
from reports.quality.verdict import assessed
from reports.run.plan_file import QualityFacts
from reports.run.quality_file import QualityFile
from reports.run.read import read_file

_CHANGED: Final = "its answers are not the ones that it was written for"


def judged_again(path: Path, asked: QualityFacts | None) -> Mapping[str, Any]:
    """A candidate's record with the verdict that its tables give now.

    A record whose tables are gone or changed proves nothing: it is inconclusive.
    Raises ReportsError for a record that cannot be read.
    """
    file = read_file(path, QualityFile)
    folder, wanted = path.parent, asked or QualityFacts(reference="bfloat16")
    if not is_as_written(path, file):
        bare = {"agreement": None, "sanity": None, "tasks": (), "verdict": "inconclusive"}
        found = file.model_copy(update={**bare, "why": _CHANGED})
    else:
        answers, samples = answers_name(file.candidate), samples_name(file.candidate)
        found = assessed(
            file,
            read_answers(folder / answers) if answers in file.files else (),
            read_samples(folder / samples) if samples in file.files else (),
            wanted,
        )
    return found.model_dump(mode="json")


def is_as_written(path: Path, file: QualityFile) -> bool:
    """Whether the tables beside a record are those that it was written for."""
    return all(_sha256(path.parent / name) == digest for name, digest in file.files.items())


def _sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
