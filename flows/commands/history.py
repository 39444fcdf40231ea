"""``runoff history``: all runs below a folder as a static site and as one table."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catalog.store import S3
from flows.errors import UsageError
from flows.home import cache_folder
from flows.store.places import fetched_facts

if TYPE_CHECKING:
    from reports.history.site import Written


def command(
    where: Annotated[
        str, typer.Argument(metavar="DIR|s3://…", help="Where runs lie, at any depth.")
    ] = "runs",
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="SITE",
            help="Folder for the site.",
            show_default="DIR/history",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="What was found, as JSON on standard output.")
    ] = False,
) -> None:
    """Show all runs over time: decisions, series, changes of level, as pages and as a table.

    Writes index.html, a page per campaign, history.parquet, and an index by which runs that
    have not changed are not read again. Runs that cannot be read are listed, never fatal.
    """
    from reports.history.site import write_history  # noqa: PLC0415 - figures take a second

    folder = Path(where)
    if where.startswith(S3):
        folder = fetched_facts(where, cache_folder(os.environ), os.environ)
        out = out or Path("history")
    if not folder.is_dir():
        raise UsageError(str(folder), "there is no such folder", "Name the folder of runs")
    version, today = importlib.metadata.version("runoff"), dt.datetime.now(dt.UTC).date()
    written = write_history(folder, out or folder / "history", maker=version, today=today)
    if as_json:
        sys.stdout.write(json.dumps(_json(written), indent=1) + "\n")
        return
    sys.stderr.write(f"wrote {written.index}\n")
    sys.stdout.write("".join(f"{line}\n" for line in _lines(written)))


def _lines(written: Written) -> list[str]:
    states = Counter(run.state for run in written.runs)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    lines = [f"{len(written.runs)} runs ({counts or 'none'}), {written.read} of them read"]
    lines += [
        f"{run.path}: {run.state}: {run.why}"
        for run in written.runs
        if run.state not in ("concluded", "copy")
    ]
    lines += [
        f"{campaign}: {line}" for campaign, found in written.changes.items() for line in found
    ]
    lines += [
        f"{run.path}: its signoff expired: valid until {run.valid_until}"
        for run in written.expired
    ]
    lines += [
        f"{run.path}: re-evaluation of {run.baseline}: {run.answer}"
        for run in written.runs
        if run.answer not in (None, "still valid")
    ]
    return lines


def _json(written: Written) -> dict[str, object]:
    return {
        "schema_version": 1,
        "site": str(written.index),
        "runs": [run.model_dump(mode="json", exclude={"candidates"}) for run in written.runs],
        "read": written.read,
        "made": list(written.made),
        "expired": [run.path for run in written.expired],
        "changes": {name: list(found) for name, found in written.changes.items()},
    }
