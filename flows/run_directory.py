"""A run directory as a command's argument: found, and held by one writer at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from flows.errors import InfrastructureError
from reports.run.layout import RunFolder
from reports.run.read import Run, read_run

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Directory of a run.", show_default=False)
]


def run_at(path: Path) -> Run:
    """The run in that directory, by its resolved path; ReportsError where there is none."""
    return read_run(path.resolve())


@contextmanager
def only_writer(folder: RunFolder) -> Iterator[None]:
    """Hold the run's lock, which is on the directory itself: no file is left behind.

    Raises
    ------
    InfrastructureError
        Where another process writes this run.
    """
    descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InfrastructureError(
            str(folder.path), "another process writes this run", "Wait for its end, or stop it"
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
