"""``runoff compare``: measure a campaign's finalists and decide."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.errors import ExitCode, Finished, UsageError
from flows.unbreakable import reader_may_leave

_MINUTES = re.compile(r"^\s*([\d.]+)\s*m\s*$")


def command(
    campaign: Annotated[Path, typer.Argument(help="Campaign file.", show_default=False)],
    *,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Against simulated engines; costs nothing.")
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN|latest|unfinished",
            help="Go on with a run that was begun; unfinished: if the newest was killed.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Rent machines without asking.")] = False,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Instead of the file's budget.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CANDIDATE", help="Measure this one alone; may be repeated."),
    ] = None,
    include_unlikely: Annotated[
        bool, typer.Option("--include-unlikely", help="Measure what an assumption votes out.")
    ] = False,
    include_unknown: Annotated[
        bool, typer.Option("--include-unknown", help="Measure what the paper cannot judge.")
    ] = False,
    keep_on_failure: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Keep a rented machine for so long where a launch failed, as in 30m.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Decision and summary as JSON on standard output.")
    ] = False,
    allow: Annotated[
        list[int] | None,
        typer.Option(metavar="CODE", help="End with 0 instead of this code; may be repeated."),
    ] = None,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
) -> None:
    """Screen, launch, load, measure, release, and say which candidate to take.

    Ctrl-C ends it early, with machines given back and a report of what there is.

    Exit code 0 on a decision; 3: the paper leaves nobody; 4: none complies; 5: inconclusive;
    8: no decision is left; 9: the budget's end; 10: a machine may still be billed.
    """
    from flows.compare import compare  # noqa: PLC0415 - much is imported there
    from flows.compare_view import agreed, show_outcome  # noqa: PLC0415
    from flows.progress import progress_for  # noqa: PLC0415
    from flows.taking_up import Options  # noqa: PLC0415
    from flows.underway import utc_now  # noqa: PLC0415

    outcome = compare(
        Options(
            campaign=campaign,
            rehearse=rehearse,
            resume=resume,
            yes=yes,
            budget_usd=budget_usd,
            only=tuple(only or ()),
            include_unlikely=include_unlikely,
            include_unknown=include_unknown,
            folders=tuple(catalog or ()),
            keep_on_failure_s=_seconds(keep_on_failure),
        ),
        os.environ,
        progress_for(sys.stderr, os.environ, utc_now),
        agreed,
    )
    # the exit code is the decision's, whoever still reads
    if as_json:
        with reader_may_leave(sys.stdout):
            sys.stdout.write(json.dumps(outcome.to_json(), indent=1, sort_keys=True) + "\n")
    stream = sys.stderr if as_json else sys.stdout
    with reader_may_leave(stream):
        show_outcome(outcome, stream)
    code = outcome.exit_code
    raise Finished(ExitCode.DECIDED if code in (allow or ()) else code)


def _seconds(text: str | None) -> float | None:
    """A time in s, also as in 30m; UsageError for what is none."""
    from catalog.quantity import Dimension, parse  # noqa: PLC0415 - few need it

    if text is None:
        return None
    try:
        return parse(_MINUTES.sub(r"\1 min", text), Dimension.TIME)[0]
    except ValueError as error:
        raise UsageError("--keep-on-failure", str(error), "Write it as 30m") from None
