"""The pages of a concluded run, written beside its evidence."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.manifest import manifest_sha256, write_manifest
from reports.pages import pages
from reports.read_report import read_report
from reports.report import Report
from reports.run.layout import RunFolder
from reports.run.write import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What was written: paths by file name, and the SHA-256 of the manifest they print."""

    manifest: str
    files: Mapping[str, Path]


def render_run(folder: RunFolder, *, now: dt.datetime | None = None) -> Rendered:
    """Write the manifest and the pages of a concluded run.

    The pages hold no time but the run's own, so that they can be made again and compared:
    ``now`` changes nothing.

    Raises
    ------
    ReportsError
        For a run that is not concluded, or a file that cannot be read or written.
    """
    del now
    write_manifest(folder)
    return render_pages(folder)


def render_pages(folder: RunFolder) -> Rendered:
    """Write the pages of a run again; its manifest stays as it is.

    Raises
    ------
    ReportsError
        For a run without a manifest, or a file that cannot be read or written.
    """
    return Rendered(
        manifest=manifest_sha256(folder),
        files={
            name: _write(folder.file(name), text) for name, text in made_pages(folder).items()
        },
    )


def made_pages(folder: RunFolder) -> Mapping[str, str]:
    """Each page's text by the name of its file, from the run and its manifest as they are."""
    return pages(report_of(folder))


def report_of(folder: RunFolder) -> Report:
    """The run's values, with the SHA-256 of its manifest."""
    return read_report(folder, manifest_sha256(folder))


def _write(path: Path, text: str) -> Path:
    write_whole(path, text.encode())
    return path
