"""``runoff reevaluate``: whether the decision of a pinned run still stands."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.errors import ExitCode, Finished
from flows.unbreakable import reader_may_leave


class Releases(StrEnum):
    """Which releases the candidates run."""

    LATEST_KNOWN = "latest-known"
    PINNED = "pinned"


def command(
    campaign: Annotated[Path, typer.Argument(help="Campaign file.", show_default=False)],
    *,
    baseline: Annotated[
        str, typer.Option(metavar="RUN", help="The pinned run: its directory or its name.")
    ],
    prices_only: Annotated[
        bool,
        typer.Option("--prices-only", help="Decide again at today's prices; measure nothing."),
    ] = False,
    versions: Annotated[
        Releases, typer.Option(help="Releases: the newest known ones, or as stated.")
    ] = Releases.LATEST_KNOWN,
    baseline_sha256: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="What the baseline's manifest hash begins with."),
    ] = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Against simulated engines; costs nothing.")
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN|latest|unfinished", help="Go on with a re-evaluation that was begun."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Rent machines without asking.")] = False,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Instead of the file's budget.")
    ] = None,
    include_unlikely: Annotated[
        bool, typer.Option("--include-unlikely", help="Measure what an assumption votes out.")
    ] = False,
    include_unknown: Annotated[
        bool, typer.Option("--include-unknown", help="Measure what the paper cannot judge.")
    ] = False,
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="BLOCK", help="Tell the answer by this notification or webhook block."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The answer as JSON on standard output.")
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
    """Measure the champion and its challengers beside the pinned baseline, and answer.

    Exit code 0: still valid; 6: a regression or another decision; 5, 7 or 8: not shown.
    """
    from flows.compare_view import agreed  # noqa: PLC0415 - much is imported there
    from flows.progress import progress_for  # noqa: PLC0415
    from flows.reevaluate import reevaluate  # noqa: PLC0415
    from flows.reevaluate_view import show_answer  # noqa: PLC0415
    from flows.underway import utc_now  # noqa: PLC0415

    found = reevaluate(
        campaign,
        baseline,
        prices_only=prices_only,
        versions=versions.value,
        baseline_sha256=baseline_sha256,
        rehearse=rehearse,
        resume=resume,
        yes=yes,
        budget_usd=budget_usd,
        include_unlikely=include_unlikely,
        include_unknown=include_unknown,
        folders=tuple(catalog or ()),
        environment=os.environ,
        notify=notify,
        progress=progress_for(sys.stderr, os.environ, utc_now),
        ask=agreed,
    )
    if as_json:
        with reader_may_leave(sys.stdout):
            sys.stdout.write(json.dumps(found.to_json(), indent=1, sort_keys=True) + "\n")
    stream = sys.stderr if as_json else sys.stdout
    with reader_may_leave(stream):
        show_answer(found, stream)
    if found.told is not None:
        sys.stderr.write(f"{found.told}\n")
    code = found.exit_code
    raise Finished(ExitCode.DECIDED if code in (allow or ()) else code)
