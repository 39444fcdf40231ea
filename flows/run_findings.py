"""What would stop a planned campaign here and now, looked at and shown."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from catalog.entries import Catalog
from catalog.schema import Campaign
from deploy_templates.registry import load_runtimes
from flows.console import Console
from flows.doctor.view import campaign_table
from flows.home import cache_folder
from flows.preflight import Finding, preflight, question_of, real_probes
from flows.system.here import facts_here
from reports.run.plan_file import RunPlan

_CHECKPOINTS: Final = "checkpoints"
_HERE: Final = "local"


def findings(
    launched: Campaign,
    plan: RunPlan,
    catalog: Catalog,
    folders: Sequence[Path],
    now: dt.datetime,
) -> tuple[Finding, ...]:
    """The preflight of the candidates that the plan measures; it takes a second.

    ``launched`` is the campaign as it is launched: a rehearsal's has other engines.
    """
    environment = os.environ
    question = question_of(
        launched,
        catalog,
        load_runtimes(folders),
        today=now.date(),
        store=Path(launched.store),
        checkpoints=cache_folder(environment) / _CHECKPOINTS,
        folders=folders,
        names=[each.name for each in plan.candidates if each.measured],
    )
    return preflight(question, real_probes(environment, facts_here(_HERE, now)))


def show_findings(console: Console, plan: RunPlan, found: Sequence[Finding]) -> None:
    """The findings as a table, the obstacles first; one line where there are none."""
    if found:
        console.table(campaign_table(plan.campaign, found))
    else:
        console.heading(f"Before campaign {plan.campaign} starts: nothing stands against it")
