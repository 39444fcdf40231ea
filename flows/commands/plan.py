"""``runoff plan``: what a campaign would do and launch, how long it takes, what it costs."""

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
from flows.calibrate.apply import at_hand
from flows.console import Console
from flows.dates import day_of
from flows.home import state_folder
from flows.launch_plans import planned, shared_needs, to_json
from flows.plan_view import show_needs, show_plans
from flows.run_plan import make_run_plan, paper_vote, rehearsed

PLANNED = "planned"  # the run of a plan that nobody has started

File = Annotated[Path, typer.Argument(help="Campaign file.", show_default=False)]
Needs = Annotated[
    bool, typer.Option("--needs", help="Every image, wheel, checkpoint and address.")
]
Preflight = Annotated[
    bool, typer.Option("--preflight", help="Look too at what would stop it here and now.")
]
Rehearse = Annotated[bool, typer.Option("--rehearse", help="Plan it with simulated engines.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="CANDIDATE", help="Measure these alone; may be repeated."),
]
Unlikely = Annotated[
    bool,
    typer.Option("--include-unlikely", help="Measure what an assumption speaks against."),
]
Unknown = Annotated[
    bool, typer.Option("--include-unknown", help="Measure what the paper cannot judge.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The plans as JSON on standard output.")]
Folders = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
]
Calibration = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|HOST|none",
        help="Rates that were measured (runoff calibrate); this host's own are taken by "
        "themselves; may be repeated.",
    ),
]
Today = Annotated[
    str, typer.Option(metavar="DATE", help="Judge the age of prices on this day.")
]


def command(
    campaign: File,
    *,
    needs: Needs = False,
    preflight: Preflight = False,
    rehearse: Rehearse = False,
    only: Only = None,
    include_unlikely: Unlikely = False,
    include_unknown: Unknown = False,
    as_json: AsJson = False,
    catalog: Folders = None,
    calibration: Calibration = None,
    today: Today = "",
) -> None:
    """Show who would be measured, in which order, how long, for how much. Starts nothing."""
    day, folders = day_of(today), tuple(catalog or ())
    stated, facts = load_campaign(campaign), load_catalog(folders)
    found = at_hand(stated, facts, tuple(calibration or ()), state_folder(os.environ))
    facts = found.catalog
    sys.stderr.write("".join(f"note: {line}\n" for line in found.notes))
    launched = rehearsed(stated) if rehearse else stated
    with located(campaign):
        plan = make_run_plan(
            stated,
            campaign.read_bytes(),
            facts,
            folders,
            now=dt.datetime.combine(day, dt.time(), dt.UTC),
            run=PLANNED,
            rehearsal=rehearse,
            only=tuple(only or ()),
            include_unlikely=include_unlikely,
            include_unknown=include_unknown,
            file=campaign,
        )
        finished = {}
        if plan.rehearsal:
            # engines are imported there
            from flows.rehearsing import engines, shortened  # noqa: PLC0415

            finished = engines(stated, facts, load_runtimes(folders), day)
            plan = shortened(plan) if rehearse else plan
        unfit = [each.name for each in plan.candidates if each.launch is None]
        plans = planned(launched, facts, folders, lenient=unfit, finished=finished)
    if as_json:
        document = {**to_json(stated, plans), "run_plan": plan.model_dump(mode="json")}
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    console = Console(sys.stdout)
    if needs:
        show_needs(console, shared_needs(plans))
        return
    # JSON needs neither tables nor a look at this machine
    from flows.run_findings import findings, show_findings  # noqa: PLC0415
    from flows.run_plan_view import show_run_plan  # noqa: PLC0415
    from flows.screen_view import show_measured  # noqa: PLC0415

    show_run_plan(console, plan)
    if found.used:
        show_measured(console, paper_vote(stated, facts, folders, day))
    if preflight:
        against = findings(launched, plan, facts, folders, dt.datetime.now(dt.UTC))
        show_findings(console, plan, against)
    show_plans(console, plans)
