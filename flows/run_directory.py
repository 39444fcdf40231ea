"""A run directory as a command's argument: found, and held by one writer at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from catalog.store import S3
from flows.errors import EvidenceError, InfrastructureError, UsageError
from flows.folder_lock import hold
from reports.manifest import verify
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import Run, read_run

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Directory of a run.", show_default=False)
]


def run_at(path: Path) -> Run:
    """The run in that directory, by its resolved path; ReportsError where there is none."""
    if path.parts[:1] == (S3.rstrip("/"),):
        url = S3 + "/".join(path.parts[1:])
        raise UsageError(
            url,
            "it lies in a bucket, and this reads a directory of this machine",
            f"Where compare wrote it here, compare says; else: aws s3 cp --recursive {url} RUN",
        )
    return read_run(path.resolve())


def refuse_changed(folder: RunFolder) -> None:
    """Raise EvidenceError for a run that is not what its manifest says, or has none yet.

    InfrastructureError where another process writes it.
    """
    found = verify(folder)
    if found:
        refuse_unfinished(folder)
        first = found[0]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise EvidenceError(
            str(folder.path),
            f"not what its manifest says: {first.path} ({first.kind}: {first.seen}){more}",
            "Look with runoff check; restore the files",
        )


def refuse_unfinished(folder: RunFolder) -> None:
    """Raise for a run that is being written, or that was begun and never concluded."""
    refuse_written(folder)
    if not any(folder.file(name).exists() for name in (layout.MANIFEST, layout.DECISION)):
        raise EvidenceError(
            str(folder.path),
            "begun, and never concluded",
            f"Go on with runoff compare {folder.file(layout.CAMPAIGN)} --resume {folder.path}",
        )


def refuse_written(folder: RunFolder) -> None:
    """Raise InfrastructureError for a run that another process writes now."""
    descriptor = hold(folder.path)
    if descriptor is None:
        raise _written_elsewhere(folder)
    os.close(descriptor)


def _written_elsewhere(folder: RunFolder) -> InfrastructureError:
    return InfrastructureError(
        str(folder.path), "another process writes this run", "Wait for its end, or stop it"
    )


@contextmanager
def only_writer(folder: RunFolder) -> Iterator[None]:
    """Hold the run's lock, which is on the directory itself: no file is left behind.

    Raises
    ------
    InfrastructureError
        Where another process writes this run.
    """
    descriptor = hold(folder.path)
    if descriptor is None:
        raise _written_elsewhere(folder)
    try:
        yield
    finally:
        os.close(descriptor)
