"""What of a campaign is shown in Prefect's UI; the files of the run are what counts."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    acreate_link_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)

from flows.closing import decision_of
from flows.underway import Underway
from reports.run import layout

_PROGRESS: dict[str, UUID] = {}
_UNFIT = re.compile(r"[^a-z0-9]+")


async def show_gates(work: Underway) -> None:
    """The paper vote as a table."""
    rows: list[dict[str, Any]] = [
        {
            "candidate": each.name,
            "verdict": each.verdict,
            "clause": each.clause,
            "measured": "yes" if each.measured else each.skipped,
        }
        for each in work.plan.candidates
    ]
    await acreate_table_artifact(rows, key=_key(work, "gates"), description="The paper vote")


async def show_progress(work: Underway) -> None:
    """The share of all cells that are kept, for those who look on: at a server of theirs."""
    if not work.around.has_shared_server:
        return
    percent, key = work.progress.percent, _key(work, "cells")
    known = _PROGRESS.get(work.plan.run)
    if known is None:
        _PROGRESS[work.plan.run] = await acreate_progress_artifact(percent, key=key)
    else:
        await aupdate_progress_artifact(known, percent)


async def show_verdicts(work: Underway) -> None:
    """The decision as a table, with its sentence."""
    decision = decision_of(work)
    rows: list[dict[str, Any]] = [
        {
            "rank": each.rank,
            "candidate": each.name,
            "standing": each.standing,
            "why": each.why,
            "$/1M compliant": None if each.usd_per_1m is None else each.usd_per_1m.value,
        }
        for each in decision.ranking
    ]
    sentence = f"{decision.stamp}: {decision.sentence}"
    await acreate_table_artifact(rows, key=_key(work, "verdicts"), description=sentence)


async def show_report(work: Underway) -> None:
    """A link to the report."""
    link = work.store.folder.file(layout.REPORT_HTML).resolve().as_uri()
    await acreate_link_artifact(link, link_text="report", key=_key(work, "report"))


def _key(work: Underway, name: str) -> str:
    """Lower case, digits and dashes, which is all that Prefect takes."""
    return _UNFIT.sub("-", f"{work.plan.campaign}-{name}".lower()).strip("-")
