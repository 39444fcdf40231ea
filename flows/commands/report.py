"""``runoff report``: the pages of a run made again, elsewhere, or held against those it has."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from flows.errors import EvidenceError
from flows.home import state_folder
from flows.run_directory import RunArgument, only_writer, refuse_changed, run_at
from flows.store.places import copy_again
from reports.render import made_pages, render_pages
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import read_file
from reports.run.signoff_file import Signoff
from reports.run.write import write_whole
from reports.validity import expiry_words


def command(
    run: RunArgument,
    *,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page there; nothing else.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the Markdown there.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the JUnit file there.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; compare with the run's pages.")
    ] = False,
) -> None:
    """Make a run's pages again: report.html, report.md, junit.xml.

    The numbers are those of the run: nothing is measured or decided anew. A run that is not
    what its manifest says is refused (exit code 7), as are pages that differ with --check.
    """
    folder = run_at(run).folder
    refuse_changed(folder)
    places = {layout.REPORT_HTML: html, layout.REPORT_MARKDOWN: markdown, layout.JUNIT: junit}
    elsewhere = {name: path for name, path in places.items() if path is not None}
    if check:
        _compare(folder, made_pages(folder))
    elif elsewhere:
        made = made_pages(folder)
        for name, path in elsewhere.items():
            write_whole(path, made[name].encode())
            sys.stderr.write(f"wrote {path}\n")
    else:
        with only_writer(folder):
            written = render_pages(folder)
        sys.stderr.write("".join(f"wrote {path}\n" for path in written.files.values()))
        copy = copy_again(folder, state_folder(os.environ), os.environ)
        if copy is not None:
            sys.stderr.write(f"copied to {copy}\n")
    _tell_expiry(folder, dt.datetime.now(dt.UTC).date())


def _tell_expiry(folder: RunFolder, today: dt.date) -> None:
    """Whether a signoff can still be relied on: the pages are the same on any day."""
    path = folder.file(layout.SIGNOFF)
    if path.is_file():
        words = expiry_words(read_file(path, Signoff).valid_until, today)
        sys.stderr.write(f"signoff: {words}\n")


def _compare(folder: RunFolder, made: Mapping[str, str]) -> None:
    other = [name for name, text in made.items() if not _is_same(folder.file(name), text)]
    if other:
        raise EvidenceError(
            str(folder.path),
            f"{', '.join(other)}: not the bytes that this runoff makes",
            "Another release may have made them; runoff report makes them again",
        )
    sys.stderr.write(f"{', '.join(made)}: as made\n")


def _is_same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()
