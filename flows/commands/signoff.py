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
from flows.errors import ExitCode, Finished, UsageError
from flows.home import state_folder
from flows.run_directory import RunArgument, run_at
from flows.signoff_view import refusal_table, signed_lines, to_json
from flows.store.places import copy_again
from reports.run.signoff_file import Approval, Waiver
from reports.signoff import Refused, parse_waiver


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
    from flows.signing import sign_off  # noqa: PLC0415 - help starts without it

    now = dt.datetime.now(dt.UTC)
    folder = run_at(run).folder
    approval = Approval(
        by=by.strip(),
        role=role.strip(),
        statement=statement.strip(),
        at=now.isoformat(timespec="seconds"),
        waivers=tuple(map(_waiver, waive or ())),
    )
    found = sign_off(folder, approval, now=now, key=key)
    if as_json:
        sys.stdout.write(json.dumps(to_json(found), indent=1, sort_keys=True) + "\n")
    elif isinstance(found, Refused):
        Console(sys.stdout).table(refusal_table(found.reasons))
    else:
        Console(sys.stdout).paragraphs(signed_lines(found), indent="")
    if isinstance(found, Refused):
        raise Finished(ExitCode.EVIDENCE)
    copy = copy_again(folder, state_folder(os.environ), os.environ)
    if copy is not None:
        sys.stderr.write(f"copied to {copy}\n")


def _waiver(text: str) -> Waiver:
    waiver = parse_waiver(text)
    if not waiver.check or not waiver.reason:
        raise UsageError(
            f"--waive {text!r}", "a check or a reason is missing", "Write CHECK:REASON"
        )
    return waiver
