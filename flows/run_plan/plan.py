"""The plan of a run: everything that a report needs of the campaign and the catalog."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from catalog.digest import catalog_digest
from catalog.entries import Catalog
from catalog.load import shipped_catalog
from catalog.schema import Campaign
from deploy_templates.request import Checkpoint
from flows.budget import Beside, estimate, money_not_spent
from flows.launch_plans import Planned, shared_needs
from flows.matrix import matrix_facts, visits
from flows.quality.beside import own_tasks
from flows.run_plan.contract import contract_facts, rule_facts
from flows.run_plan.origins import user_entries
from flows.run_plan.standing import Asked, Standing, paper_vote
from reports.run.plan_file import CandidateFacts, RunPlan

__all__ = ["gates_json", "make_run_plan", "paper_vote"]
_ACCELERATED: Final = ("cuda", "rocm")  # the classes that a calibration knows


def make_run_plan(
    campaign: Campaign,
    text: bytes,
    catalog: Catalog,
    folders: Sequence[Path] = (),
    *,
    now: dt.datetime,
    run: str,
    rehearsal: bool = False,
    only: Sequence[str] = (),
    include_unlikely: bool = False,
    include_unknown: bool = False,
    checkpoints: Mapping[str, Checkpoint] | None = None,
    file: Path | None = None,
) -> RunPlan:
    """The plan of a campaign, decided on the day of ``now``.

    Parameters
    ----------
    text
        The campaign file as it lies on disk.
    rehearsal
        Every candidate is launched as the simulated engine; the paper vote stays its own.
    checkpoints
        Checkpoints that lie prepared, by candidate: a dummy that was made, a file that was
        fetched. A flow passes them here, before the plan is frozen.
    file
        Where the campaign file lies, if it does: its own questions lie beside it.

    Raises
    ------
    CatalogError
        For names that the catalog lacks, candidates that cannot be launched as stated, and
        a matrix too small for a decision.
    """
    asked = Asked(
        rehearsal=rehearsal,
        only=tuple(only),
        include_unlikely=include_unlikely,
        include_unknown=include_unknown,
        checkpoints=checkpoints,
    )
    standing = Standing.of(campaign, catalog, folders, asked, now.date())
    matrix = matrix_facts(campaign)
    whole = RunPlan(
        runoff_version=version("runoff"),
        campaign=campaign.name,
        run=run,
        question=campaign.question,
        created_at=now.astimezone(dt.UTC).isoformat(timespec="seconds"),
        campaign_sha256=hashlib.sha256(text).hexdigest(),
        catalog_digest=catalog_digest((shipped_catalog(), *folders)),
        user_entries=user_entries(campaign, catalog),
        rehearsal=rehearsal or standing.is_simulated,
        contract=contract_facts(campaign.contract),
        matrix=matrix,
        candidates=standing.candidates,
        order=visits(standing.candidates, matrix),
        budget_usd=None if campaign.budget.usd is None else campaign.budget.usd.value,
        budget_hours=campaign.budget.hours,
        **rule_facts(campaign),
        load_from=campaign.load_from,
        needs=_needs(standing.launches),
        threats=_threats(campaign, standing.candidates, rehearsal=rehearsal),
    )
    beside = Beside(
        calibrated=_calibrated(campaign, catalog, whole),
        tasks={} if file is None else own_tasks(_tasks(campaign), file),
    )
    costed = whole.model_copy(update={"estimate": estimate(whole, beside)})
    return costed.model_copy(update={"money_not_spent": money_not_spent(costed, beside)})


def gates_json(
    campaign: Campaign, catalog: Catalog, folders: Sequence[Path], today: dt.date
) -> dict[str, Any]:
    """The object that ``runoff screen --json`` prints, for ``gates.json``."""
    return paper_vote(campaign, catalog, folders, today).to_json()


def _calibrated(campaign: Campaign, catalog: Catalog, plan: RunPlan) -> dict[str, int]:
    """Hosts whose rates the campaign measures first, each with its number of accelerators.

    Nothing is measured of an endpoint. This machine's own calibration, where one is at hand,
    is taken instead.
    """
    if not campaign.calibrate or plan.rehearsal:
        return {}
    found: dict[str, int] = {}
    for each in plan.candidates:
        if each.kind == "launch":
            found[each.host] = max(found.get(each.host, 0), _accelerators(each, catalog))
    known = {
        each.host
        for each in plan.candidates
        if each.host_class == "local" and each.name in catalog.measured
    }
    return {host: count for host, count in found.items() if host not in known}


def _accelerators(candidate: CandidateFacts, catalog: Catalog) -> int:
    """Those of the machine as far as they are known; a rented one's are all of its offer."""
    if candidate.device_class not in _ACCELERATED:
        return 0
    if candidate.offer is not None:
        return catalog.offer(candidate.offer).device_count
    return candidate.device_count


def _tasks(campaign: Campaign) -> tuple[str, ...]:
    quality = campaign.contract.quality
    return () if quality is None else quality.tasks


def _needs(launches: Sequence[Planned]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {**asdict(shared.need), "candidates": list(shared.candidates)}
        for shared in shared_needs(launches)
    )


def _threats(
    campaign: Campaign, candidates: Sequence[CandidateFacts], *, rehearsal: bool
) -> tuple[str, ...]:
    """What stands against the whole run, whatever it measures."""
    found = []
    if rehearsal:
        found.append("a rehearsal: every figure is simulated")
    measured = [each for each in candidates if each.measured]
    there = {each.host_class for each in measured}
    if "local" in there or (campaign.load_from == "candidate" and there & {"ssh", "cloud"}):
        found.append("the load is made on the machine that serves it")
    if any(each.kind == "endpoint" for each in measured):
        found.append("an endpoint is measured as it stands: nothing of it is controlled")
    return tuple(found)
