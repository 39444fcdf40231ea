"""Which run a ``--resume unfinished`` goes on with: one that was killed a short while ago."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Final

from flows.store.runs import begun_at, runs_of
from reports.run import layout
from reports.run.plan_file import RunPlan
from reports.run.read import read_file

UNFINISHED: Final = "unfinished"
YOUNG: Final = dt.timedelta(days=1)  # what is measured a week apart is not one run


def unfinished(root: Path, wanted: RunPlan, now: dt.datetime) -> str | None:
    """The name of the campaign's newest run if it never came to a decision; else None.

    It must ask what ``wanted`` asks (file, catalog, candidates, rehearsal or not) and have
    been begun within a day.
    """
    there = runs_of(root, wanted.campaign)
    if not there:
        return None
    newest = there[-1]
    if (newest / layout.DECISION).exists() or now - begun_at(newest.name) > YOUNG:
        return None
    plan = read_file(newest / layout.PLAN, RunPlan)
    return newest.name if _question(plan) == _question(wanted) else None


def _question(plan: RunPlan) -> tuple[str, str, bool, frozenset[str]]:
    measured = frozenset(each.name for each in plan.candidates if each.measured)
    return plan.campaign_sha256, plan.catalog_digest, plan.rehearsal, measured
