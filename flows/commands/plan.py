"""``runoff plan``: what would be launched, what it needs, what it cannot promise."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from catalog.load import load_campaign, load_catalog, located
from flows.console import Console
from flows.launch_plans import planned, shared_needs, to_json
from flows.plan_view import show_needs, show_plans


def command(
    campaign: Annotated[Path, typer.Argument(help="Campaign file.", show_default=False)],
    *,
    needs: Annotated[
        bool, typer.Option("--needs", help="Every image, wheel, checkpoint and address.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The plans as JSON on standard output.")
    ] = False,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
) -> None:
    """Show each candidate's launch: commands, controlled variables, threats. Starts nothing."""
    stated = load_campaign(campaign)
    folders = tuple(catalog or ())
    with located(campaign):
        plans = planned(stated, load_catalog(folders), folders)
    if as_json:
        sys.stdout.write(json.dumps(to_json(stated, plans), indent=2, allow_nan=False) + "\n")
        return
    console = Console(sys.stdout)
    if needs:
        show_needs(console, shared_needs(plans))
        return
    show_plans(console, plans)
