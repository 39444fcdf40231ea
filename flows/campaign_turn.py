"""One flow of a campaign at a time, on the machine where its runs are kept, and none too late.

The lock is on the folder of the campaign's runs; the kernel frees it when its holder dies, so
a killed run keeps nobody out. Prefect's own limits would: their slots outlive a killed holder
by minutes, and a restart of its server by for ever.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext

from catalog.errors import CatalogError
from catalog.load import load_campaign, shipped_catalog
from flows.errors import ExitCode, RunoffError
from flows.final_state import Told, ended, final_state, skipped
from flows.folder_lock import hold
from flows.home import state_folder
from flows.store.disk import make_folder, told
from flows.store.places import store_place
from flows.store.runs import runs_of
from flows.underway import utc_now
from reports.run import layout
from reports.run.ledger_file import read_ledger


def in_turn(
    campaign: str, run: Callable[[Path], Told], allow: Sequence[int], late_min: float
) -> State[Any]:
    """Run what is asked of a campaign, unless it comes too late or one is under way."""
    late = late_by(utc_now())
    if late is not None and late > dt.timedelta(minutes=late_min):
        return skipped(
            f"it was due {late.total_seconds() / 60:.0f} min ago, when no worker began it; "
            "the next one comes by the schedule"
        )
    try:
        file = campaign_file(campaign)
        stated = load_campaign(file)
        root = store_place(stated.store, state_folder(os.environ), os.environ).root
        with told(root):
            make_folder(root / stated.name)
    except CatalogError as error:
        return final_state(ExitCode.USAGE, str(error), ())
    except RunoffError as error:
        return final_state(error.exit_code, str(error), ())
    with campaign_turn(root, stated.name) as other:
        if other is not None:
            return skipped(f"campaign {stated.name!r} is under way ({other})")
        return ended(lambda: run(file), allow)


def campaign_file(campaign: str) -> Path:
    """The file that a form names: a path, else one of the campaigns that we bring along."""
    shipped = shipped_catalog() / "campaigns" / f"{campaign}.yaml"
    return shipped if not Path(campaign).exists() and shipped.is_file() else Path(campaign)


def late_by(now: dt.datetime) -> dt.timedelta | None:
    """How late a scheduled run begins; None for one that somebody asked for."""
    context = FlowRunContext.get()
    run = None if context is None else context.flow_run
    if run is None or not run.auto_scheduled or run.expected_start_time is None:
        return None
    return now - run.expected_start_time


@contextmanager
def campaign_turn(root: Path, campaign: str) -> Iterator[str | None]:
    """Hold the campaign's runs for this process: None, or what is under way instead."""
    turn = hold(root / campaign)
    if turn is None:
        yield _written(root, campaign) or "one that is just beginning"
        return
    try:
        yield _written(root, campaign)  # begun by hand
    finally:
        os.close(turn)


def _written(root: Path, campaign: str) -> str | None:
    """The run of the campaign that is being measured now, whoever began it."""
    for run in runs_of(root, campaign):
        held = hold(run)
        if held is not None:
            os.close(held)
        elif not _is_decided(run):
            return f"run {run.name}"
    return None


def _is_decided(run: Path) -> bool:
    """Whether who holds it signs or renders it; one that is gone on with is measured again."""
    if not (run / layout.DECISION).exists():
        return False
    ledger = read_ledger(run / layout.LEDGER)
    return bool(ledger) and ledger[-1].get("event") == "concluded"
