"""``runoff machines``: what is ours on every cloud, what it costs, and its removal."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from flows.amazon.driver import REGIONS
from flows.clouds.protocol import Site
from flows.console import Console
from flows.errors import InfrastructureError, StillBilled, UsageError
from flows.home import state_folder
from flows.machines_view import holders, machines_table, total
from flows.owned import Holding
from flows.owned_here import Look, look, recorder, remove
from flows.store.places import store_place

SCHEMA_VERSION = 1


def command(
    *,
    release: Annotated[
        bool, typer.Option("--release", help="Remove what nobody needs any more.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="With --release: what living campaigns and others hold too."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="All of it as JSON on standard output.")
    ] = False,
    store: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Where runs are kept; may be repeated. Those copied to S3 are known.",
        ),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(metavar="REGION", help="A region of AWS to look in too; may be repeated."),
    ] = None,
) -> None:
    """List machines that are ours on every configured cloud, with their cost so far.

    Exit code 10 if anything that costs money is ours, 8 if a cloud could not be asked, else 0.
    """
    site = _site(region or ())
    stores = [store_place(each, site.state, os.environ).root for each in store or ["runs"]]
    found = look(site, stores)
    if release:
        wanted = tuple(each for each in found.holdings if everything or each.is_abandoned)
        if wanted and not yes:
            _ask(wanted)
        _release(site, found, wanted)
        kept = len(found.holdings) - len(wanted)
        if kept:
            sys.stderr.write(f"{kept} in use or held elsewhere: left alone (see --all)\n")
        found = look(site, stores)
    if as_json:
        sys.stdout.write(json.dumps(_document(found, site.now()), indent=2) + "\n")
    else:
        _show(found)
    _verdict(found)


def _site(regions: Sequence[str]) -> Site:
    environment = dict(os.environ)
    if regions:
        environment[REGIONS] = ",".join([*regions, environment.get(REGIONS, "")])
    return Site(
        environment=environment,
        state=state_folder(environment),
        now=lambda: dt.datetime.now(dt.UTC),
    )


def _ask(wanted: Sequence[Holding]) -> None:
    console = Console(sys.stderr)
    console.table(machines_table(wanted))
    console.paragraphs(holders(wanted))
    if not sys.stdin.isatty():
        raise UsageError("--release", "nobody is here to be asked", "Add --yes")
    sys.stderr.write(f"\nRemove {len(wanted)} of these? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise UsageError("--release", "not confirmed", "Nothing was removed")


def _release(site: Site, found: Look, wanted: Sequence[Holding]) -> None:
    if not wanted:
        return
    ledger, record = recorder(site.state, site.now)
    try:
        done = remove(found, wanted, record)
    finally:
        ledger.close()
    for each in done.removed:
        sys.stderr.write(f"removed {each.machine.id}\n")
    for error in done.failed:
        sys.stderr.write(f"{error}\n")


def _document(found: Look, at: dt.datetime) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "at": at.isoformat(timespec="seconds"),
        "billed": bool(found.billed),
        "machines": [each.to_json() for each in found.holdings],
        "problems": list(found.problems),
    }


def _show(found: Look) -> None:
    console = Console(sys.stdout)
    if found.holdings:
        console.table(machines_table(found.holdings))
        console.paragraphs(holders(found.holdings))
    elif not found.problems:
        console.heading("Nothing is ours")
    console.paragraphs(found.problems)


def _verdict(found: Look) -> None:
    """The loud last line: money first, then what could not be seen."""
    if found.billed:
        raise StillBilled(
            "runoff machines",
            f"{len(found.billed)} billed now, {total(found.billed)} so far",
            "Give back what nobody needs: runoff machines --release",
        )
    if found.problems:
        raise InfrastructureError(
            "runoff machines", "not everything could be seen", "What is listed may not be all"
        )
