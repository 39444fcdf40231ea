"""``runoff doctor``: whether this machine, and a campaign on it, are ready to measure."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from catalog.load import load_campaign, load_catalog, located
from flows.console import Console
from flows.doctor.examine import Examination, checked, examined, with_bandwidth
from flows.doctor.tools import engines, real_tools
from flows.doctor.view import bandwidth_line, campaign_table, machine_table
from flows.errors import ExitCode, Finished
from flows.preflight import real_probes
from flows.system.here import facts_here


def command(
    campaign: Annotated[Path | None, typer.Argument(help="Campaign file.")] = None,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="All of it as JSON on standard output.")
    ] = False,
    bandwidth: Annotated[
        bool, typer.Option("--bandwidth", help="Measure the main memory's bandwidth too.")
    ] = False,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
) -> None:
    """Look at this machine, and at what would stop a campaign on it. Starts nothing.

    Exit code 0 if nothing blocks, else 8; 2 for a file that cannot be used.
    """
    stated = load_campaign(campaign) if campaign is not None else None
    folders = tuple(catalog or ())
    facts = load_catalog(folders)
    now = dt.datetime.now(dt.UTC)
    probes = real_probes(os.environ, facts_here("local", now))
    load = probes.load()  # before anything of ours disturbs it
    probes = replace(probes, load=lambda: load)
    store = Path(stated.store if stated is not None else "runs")
    found = examined(probes, real_tools(os.environ), engines(folders), load, store)
    if campaign is not None and stated is not None:
        with located(campaign):
            verdict = checked(stated, facts, folders, probes, today=now.date(), store=store)
        found = replace(found, checked=verdict)
    if bandwidth:
        found = replace(found, system=with_bandwidth(found.system))
    if as_json:
        sys.stdout.write(json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n")
    else:
        _show(found)
    if not found.is_ready:
        raise Finished(ExitCode.INFRASTRUCTURE)


def _show(found: Examination) -> None:
    console = Console(sys.stdout)
    console.table(machine_table(found.readings))
    measured = found.system.bandwidth
    if measured is not None:
        console.paragraphs((bandwidth_line(measured),))
    about = found.checked
    if about is None:
        return
    if about.findings:
        console.table(campaign_table(about.campaign, about.findings))
    else:
        console.heading(f"Before campaign {about.campaign} starts: nothing stands against it")
    console.paragraphs(f"{name} is not measured: {why}" for name, why in about.skipped.items())
