"""``runoff check``: whether a run directory is what it says; writes nothing."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.console import Console
from flows.errors import ExitCode, Finished, UsageError
from flows.run_directory import RunArgument, refuse_written, run_at
from reports.tables import Cell, Column, Meaning, Table

if TYPE_CHECKING:
    from flows.check_run import Row

_MEANINGS: dict[str, Meaning] = {
    "pass": "pass",
    "fail": "fail",
    "waived": "warn",
    "unknown": "warn",
    "note": "none",
}


def command(
    run: RunArgument,
    *,
    allowed_signers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="SSH keys that may sign; then every approval must be signed."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The rows as JSON on standard output.")
    ] = False,
) -> None:
    """Check a run: files against the manifest, conclusion against the evidence, signoff.

    Ends with 0, with 7 where a row fails, with 8 while another process writes the run.
    """
    from flows.check_run import check_run  # noqa: PLC0415 - help starts without it

    if allowed_signers is not None and not allowed_signers.is_file():
        raise UsageError(
            f"--allowed-signers {allowed_signers}",
            "there is no such file",
            "Name a file of keys",
        )
    version = importlib.metadata.version("runoff")
    today = dt.datetime.now(dt.UTC).date()
    folder = run_at(run).folder
    refuse_written(folder)  # its files are ahead of its manifest
    rows = check_run(folder, version=version, today=today, allowed=allowed_signers)
    failed = any(row.verdict == "fail" for row in rows)
    if as_json:
        found = {
            "schema_version": 1,
            "verdict": "fail" if failed else "pass",
            "rows": [asdict(row) for row in rows],
        }
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        Console(sys.stdout).table(_table(rows))
    if failed:
        raise Finished(ExitCode.EVIDENCE)


def _table(rows: Sequence[Row]) -> Table:
    titles = ("question", "of", "verdict", "seen")
    return Table(
        title="Check",
        columns=tuple(Column(title=title) for title in titles),
        rows=tuple(
            (
                Cell(text=row.id),
                Cell(text=row.of),
                Cell(text=row.verdict, meaning=_MEANINGS[row.verdict]),
                Cell(text=row.seen),
            )
            for row in rows
        ),
    )
