"""``runoff doctor``: whether this machine, and a campaign on it, are ready to measure."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from catalog.load import load_campaign, load_catalog, located
from flows.clouds import aws
from flows.clouds.protocol import Site
from flows.console import Console
from flows.doctor.examine import Examination, checked, examined, with_bandwidth
from flows.doctor.tools import engines, real_tools
from flows.doctor.view import bandwidth_line, campaign_table, machine_table
from flows.errors import ExitCode, Finished, RunoffError, UsageError
from flows.home import state_folder
from flows.preflight import Finding, real_probes
from flows.preflight.finding import of_error
from flows.store.places import StorePlace, store_place
from flows.system.here import facts_here

_AWS: Final = "aws"


def command(
    subject: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CAMPAIGN | aws [REGION]...",
            help="A campaign file; or aws, with the regions to look at.",
        ),
    ] = None,
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
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="TYPE", help="With aws: an instance type; may be repeated."
        ),
    ] = None,
    policy: Annotated[
        bool, typer.Option("--policy", help="With aws: print the least policy as JSON.")
    ] = False,
) -> None:
    """Look at this machine, and at what would stop a campaign on it. Starts nothing.

    Exit code 0 if nothing blocks, else 8; 2 for a file that cannot be used.
    """
    words = subject or []
    if words[:1] == [_AWS]:
        _aws(words[1:], kind or (), policy=policy, as_json=as_json)
        return
    if policy or kind:
        raise UsageError("--policy, --type", "they are of AWS", "Say: runoff doctor aws")
    if len(words) > 1:
        raise UsageError(words[1], "one campaign is looked at at a time", "Name one file")
    campaign = Path(words[0]) if words else None
    stated = load_campaign(campaign) if campaign is not None else None
    folders = tuple(catalog or ())
    facts = load_catalog(folders)
    now = dt.datetime.now(dt.UTC)
    probes = real_probes(os.environ, facts_here("local", now))
    load = probes.load()  # before anything of ours disturbs it
    probes = replace(probes, load=lambda: load)
    stated_store = stated.store if stated is not None else "runs"
    place = store_place(stated_store, state_folder(os.environ), os.environ)
    store = place.root
    found = examined(probes, real_tools(os.environ), engines(folders), load, store)
    if campaign is not None and stated is not None:
        with located(campaign):
            verdict = checked(stated, facts, folders, probes, today=now.date(), store=store)
        findings = (*verdict.findings, *_of_store(place))
        found = replace(found, checked=replace(verdict, findings=findings))
    if bandwidth:
        found = replace(found, system=with_bandwidth(found.system))
    if as_json:
        sys.stdout.write(json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n")
    else:
        _show(found)
    if not found.is_ready:
        raise Finished(ExitCode.INFRASTRUCTURE)


def _of_store(place: StorePlace) -> tuple[Finding, ...]:
    """What keeps a campaign from the bucket that its runs are copied to; nothing is written."""
    try:
        place.require_reachable()
    except RunoffError as error:
        return (of_error(error),)
    return ()


def _aws(regions: list[str], kinds: Sequence[str], *, policy: bool, as_json: bool) -> None:
    """Whether machines may be rented; asks AWS and starts nothing."""
    from flows.amazon.examine import USUAL_TYPE, readings  # noqa: PLC0415 - few need it
    from flows.amazon.policy import minimal_policy  # noqa: PLC0415

    if policy:
        sys.stdout.write(json.dumps(minimal_policy(), indent=2) + "\n")
        return
    driver = aws.connect(_site())
    there = regions or driver.regions()
    if not there:
        raise UsageError("runoff doctor aws", "no region is known", "Name one, or AWS_REGION")
    found = tuple(readings(driver.api, there, kinds or (USUAL_TYPE,), driver.choices))
    is_ready = all(reading.state != "blocks" for reading in found)
    if as_json:
        told = {"ready": is_ready, "aws": [reading.to_json() for reading in found]}
        sys.stdout.write(json.dumps(told, indent=2, allow_nan=False) + "\n")
    else:
        Console(sys.stdout).table(machine_table(found, "Renting from AWS"))
    if not is_ready:
        raise Finished(ExitCode.INFRASTRUCTURE)


def _site() -> Site:
    return Site(
        environment=os.environ,
        state=state_folder(os.environ),
        now=lambda: dt.datetime.now(dt.UTC),
    )


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
