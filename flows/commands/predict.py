"""``runoff predict``: what each candidate should show at each load, before it is measured."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from catalog.load import load_campaign, load_catalog, located
from deploy_templates.registry import load_runtimes
from flows.console import Console
from flows.dates import day_of
from flows.errors import UsageError
from flows.home import state_folder


def command(
    campaign: Annotated[Path, typer.Argument(help="Campaign file.", show_default=False)],
    *,
    rate: Annotated[
        list[float] | None,
        typer.Option(min=1e-6, metavar="PER_S", help="Predict this rate too; may be repeated."),
    ] = None,
    concurrency: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="N", help="Predict so many streams too; may be repeated."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CANDIDATE", help="Predict this one alone; may be repeated."),
    ] = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Predict the campaign's rehearsal.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The predictions as JSON on standard output.")
    ] = False,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
    today: Annotated[
        str, typer.Option(metavar="DATE", help="Judge the age of prices on this day.")
    ] = "",
) -> None:
    """Predict TTFT, ITL, TPOT, goodput and the highest held rate; nothing is started.

    Earlier runs of the same launches in the campaign's store are what it rests on, where there
    are any; else rates from the catalog. A candidate of which neither is known is unknown.
    """
    from flows.calibrate.apply import at_hand  # noqa: PLC0415 - it looks at this machine
    from flows.foretelling import asked_plan, knowns_of, prediction_of  # noqa: PLC0415 - numpy
    from flows.predict_view import show_prediction  # noqa: PLC0415
    from flows.store.places import store_place  # noqa: PLC0415

    state = state_folder(os.environ)
    day, folders = day_of(today), tuple(catalog or ())
    stated, facts = load_campaign(campaign), load_catalog(folders)
    if not stated.candidates:
        raise UsageError(str(campaign), "the file names no candidate", "Add some")
    with located(campaign):
        plan = asked_plan(
            stated,
            campaign.read_bytes(),
            facts,
            folders,
            now=dt.datetime.combine(day, dt.time(), dt.UTC),
            rehearsal=rehearse,
            only=tuple(only or ()),
            rates=tuple(rate or ()),
            streams=tuple(concurrency or ()),
        )
        found = at_hand(stated, facts, (), state)
        sys.stderr.write("".join(f"note: {line}\n" for line in found.notes))
        knowns = knowns_of(stated, found.catalog, load_runtimes(folders), plan)
    root = store_place(stated.store, state, os.environ).root
    expected = prediction_of(root, plan, knowns, with_rates=True)
    if as_json:
        sys.stdout.write(
            json.dumps(expected.model_dump(mode="json"), indent=1, allow_nan=False) + "\n"
        )
        return
    show_prediction(Console(sys.stdout), plan, expected)
