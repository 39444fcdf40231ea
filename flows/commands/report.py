"""``runoff report``: the pages of a run made again, elsewhere, or held against those it has."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from flows.errors import EvidenceError
from flows.home import state_folder
from flows.run_directory import RunArgument, only_writer, run_at
from flows.store.places import copy_again
from reports.manifest import verify
from reports.render import made_pages, render_pages
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.write import write_whole


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
    _refuse_changed(folder)
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


def _refuse_changed(folder: RunFolder) -> None:
    found = verify(folder)
    if found:
        first = found[0]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise EvidenceError(
            str(folder.path),
            f"not what its manifest says: {first.path} ({first.kind}: {first.seen}){more}",
            "Look with runoff check; restore the files",
        )


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
