"""``runoff screen``: the paper vote over a campaign's candidates or the whole catalog."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from catalog.entries import Catalog
from catalog.load import load_campaign, load_catalog, located
from catalog.schema import Campaign
from catalog.screen import Screen, screen, screen_all_offers
from deploy_templates.registry import load_runtimes
from flows.calibrate.apply import Applied, at_hand
from flows.console import Console
from flows.dates import day_of
from flows.errors import ExitCode, Finished, UsageError
from flows.home import state_folder
from flows.screen_view import show_explanations, show_screen


def command(
    campaign: Annotated[Path, typer.Argument(help="Campaign file.", show_default=False)],
    *,
    all_offers: Annotated[
        bool, typer.Option("--all-offers", help="Every offer of the catalog stands.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=0, help="Show the best N of --all-offers; 0 shows all.")
    ] = 30,
    explain: Annotated[
        bool, typer.Option("--explain", help="Each gate's formula with its numbers.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The screen as JSON on standard output.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write paper.html and paper.md there.")
    ] = None,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
    calibration: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|HOST|none",
            help="Rates that were measured (runoff calibrate); this host's own are taken by "
            "themselves; may be repeated.",
        ),
    ] = None,
    today: Annotated[
        str, typer.Option(metavar="DATE", help="Judge the age of prices on this day.")
    ] = "",
) -> None:
    """Screen candidates on paper: gates, margins, best-case cost; nothing is started.

    Exit code 0 if at least one candidate is not rejected, else 3.
    """
    day = day_of(today)
    stated = load_campaign(campaign)
    if not stated.candidates and not all_offers:
        raise UsageError(
            str(campaign), "the file names no candidate", "Add some, or give --all-offers"
        )
    folders = tuple(catalog or ())
    facts, runtimes = load_catalog(folders), load_runtimes(folders)
    found = _calibrated(stated, facts, tuple(calibration or ()), all_offers=all_offers)
    facts = found.catalog
    sys.stderr.write("".join(f"note: {line}\n" for line in found.notes))
    vote = screen_all_offers if all_offers else screen
    with located(campaign):
        result = vote(stated, facts, runtimes, day)
    if as_json:
        indent = None if all_offers else 2  # thousands of candidates are for programs
        sys.stdout.write(json.dumps(result.to_json(), indent=indent, allow_nan=False) + "\n")
    else:
        _show(stated, result, limit=limit, explain=explain)
    if report is not None:
        from flows.paper import compose, write_pages  # noqa: PLC0415 - only pages need it

        paper = compose(stated.question, result, facts, limit, overlays=folders, today=day)
        written = write_pages(report, paper)
        sys.stderr.write("".join(f"wrote {path}\n" for path in written))
    if not result.survivors:
        raise Finished(ExitCode.NOTHING_SURVIVES)


def _calibrated(
    stated: Campaign, facts: Catalog, words: tuple[str, ...], *, all_offers: bool
) -> Applied:
    if all_offers and words:
        raise UsageError(
            "--calibration",
            "every offer stands, and none of them is a calibrated host",
            "Lay its entries over the catalog: runoff calibrate --catalog-out, --catalog",
        )
    if all_offers:
        return Applied(catalog=facts, used={})
    return at_hand(stated, facts, words, state_folder(os.environ))


def _show(stated: Campaign, result: Screen, *, limit: int, explain: bool) -> None:
    console = Console(sys.stdout)
    show_screen(console, stated.question, result, limit)
    if explain:
        show_explanations(console, result, limit)
