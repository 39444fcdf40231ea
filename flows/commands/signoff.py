"""``runoff signoff``: approve exactly this evidence, or hear why it cannot be."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.console import Console
from flows.errors import ExitCode, Finished
from flows.run_directory import RunArgument
from flows.signoff_view import show_refused, signed_lines, to_json
from reports.signoff import Refused


def command(
    run: RunArgument,
    *,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who approves.")],
    role: Annotated[str, typer.Option(help="In which role.")],
    statement: Annotated[str, typer.Option(help="What is approved, and for what use.")],
    waive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK:REASON", help="Accept a failed check, and why; may be repeated."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="SSHKEY", help="Sign with this SSH key as well (ssh-keygen)."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The signoff, or the reasons, as JSON.")
    ] = False,
) -> None:
    """Approve a run: its manifest is what is signed. Refuses (exit 7) with all reasons.

    Several people may approve the same manifest, one after the other.
    """
    from flows.signing import sign_off_run  # noqa: PLC0415 - help starts without it

    found, copy = sign_off_run(
        run,
        by=by,
        role=role,
        statement=statement,
        waive=waive or (),
        key=key,
        now=dt.datetime.now(dt.UTC),
        environment=os.environ,
    )
    if as_json:
        sys.stdout.write(json.dumps(to_json(found), indent=1, sort_keys=True) + "\n")
    elif isinstance(found, Refused):
        show_refused(Console(sys.stdout), found.reasons)
    else:
        Console(sys.stdout).paragraphs(signed_lines(found), indent="")
    if isinstance(found, Refused):
        raise Finished(ExitCode.EVIDENCE)
    if copy is not None:
        sys.stderr.write(f"copied to {copy}\n")
