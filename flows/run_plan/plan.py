"""The plan of a run: everything that a report needs of the campaign and the catalog."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from catalog.architecture import UnknownArchitecture, read_config
from catalog.digest import catalog_digest
from catalog.entries import OURS, Catalog
from catalog.errors import CatalogError
from catalog.facts import model_of
from catalog.load import shipped_catalog
from catalog.schema import Campaign, Candidate
from catalog.screen import Screen, screen
from catalog.verdict import Status
from deploy_templates.registry import load_runtimes
from deploy_templates.request import Checkpoint
from flows.budget import estimate, money_not_spent
from flows.launch_plans import planned, shared_needs
from flows.matrix import matrix_facts, visits
from flows.run_plan.candidates import Choice, Shared, candidate_facts
from flows.run_plan.contract import contract_facts
from flows.run_plan.rehearsed import rehearsed
from reports.run.plan_file import CandidateFacts, RunPlan

_DEFAULT_SWITCH: Final = 0.1
_MEASURE: Final = "measure"


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

    Raises
    ------
    CatalogError
        For names that the catalog lacks, candidates that cannot be launched as stated, and
        a matrix too small for a decision.
    """
    _check_names(campaign, only)
    vote = paper_vote(campaign, catalog, folders, now.date())
    matrix = matrix_facts(campaign)
    shared = Shared(
        campaign=campaign,
        choice=Choice(
            only=tuple(only),
            unlikely=include_unlikely or campaign.screening.unlikely == _MEASURE,
            unknown=include_unknown or campaign.screening.unknown == _MEASURE,
        ),
        is_moe=_is_moe(campaign, catalog),
        has_decision_point=matrix.decision_point is not None,
        rehearsal=rehearsal,
    )
    verdicts = {verdict.name: verdict for verdict in vote.candidates}
    skipped = {
        each.name: why
        for each in campaign.candidates
        if (why := shared.choice.against(each, verdicts[each.name])) is not None
    }
    plans = planned(
        rehearsed(campaign) if rehearsal else campaign,
        catalog,
        folders,
        checkpoints=checkpoints,
        lenient=[
            name
            for name in skipped
            if verdicts[name].verdict is Status.REJECT or (only and name not in only)
        ],
    )
    candidates = tuple(
        candidate_facts(shared, each, verdicts[each.name], one, skipped.get(each.name))
        for each, one in zip(campaign.candidates, plans, strict=True)
    )
    is_simulated = any(one.plan is not None and one.plan.simulation for one in plans)
    whole = RunPlan(
        runoff_version=version("runoff"),
        campaign=campaign.name,
        run=run,
        question=campaign.question,
        created_at=now.astimezone(dt.UTC).isoformat(timespec="seconds"),
        campaign_sha256=hashlib.sha256(text).hexdigest(),
        catalog_digest=catalog_digest((shipped_catalog(), *folders)),
        user_entries=_user_entries(campaign, catalog),
        exploratory=campaign.exploratory,
        rehearsal=rehearsal or is_simulated,
        contract=contract_facts(campaign.contract),
        matrix=matrix,
        candidates=candidates,
        order=visits(candidates, matrix),
        budget_usd=_dollars(campaign),
        budget_hours=campaign.budget.hours,
        incumbent=campaign.incumbent,
        switch_if_saves=_DEFAULT_SWITCH
        if campaign.switch_if_saves is None
        else campaign.switch_if_saves.value,
        commitments=campaign.commitments,
        load_from=campaign.load_from,
        needs=tuple(
            {**asdict(need.need), "candidates": list(need.candidates)}
            for need in shared_needs(one for one in plans if one.name not in skipped)
        ),
        threats=_threats(campaign, candidates, rehearsal=rehearsal),
    )
    costed = whole.model_copy(update={"estimate": estimate(whole)})
    return costed.model_copy(update={"money_not_spent": money_not_spent(costed)})


def paper_vote(
    campaign: Campaign, catalog: Catalog, folders: Sequence[Path], today: dt.date
) -> Screen:
    """The gates' verdicts on the campaign's candidates; ``today`` ages the prices."""
    return screen(campaign, catalog, load_runtimes(folders), today)


def gates_json(
    campaign: Campaign, catalog: Catalog, folders: Sequence[Path], today: dt.date
) -> dict[str, Any]:
    """The object that ``runoff screen --json`` prints, for ``gates.json``."""
    return paper_vote(campaign, catalog, folders, today).to_json()


def _check_names(campaign: Campaign, only: Sequence[str]) -> None:
    names = [each.name for each in campaign.candidates]
    if not names:
        raise CatalogError("candidates", "the file names none", "Add some")
    for name in only:
        if name not in names:
            raise CatalogError(
                f"--only {name}",
                "no candidate has this name",
                f"Name one of {', '.join(names)}",
            )


def _is_moe(campaign: Campaign, catalog: Catalog) -> bool:
    try:
        return read_config(model_of(catalog, campaign.contract.model).config).routed
    except UnknownArchitecture:
        return False


def _user_entries(campaign: Campaign, catalog: Catalog) -> tuple[str, ...]:
    """Entries that the candidates rest on and that are a user's own."""
    found: list[str] = []
    model = model_of(catalog, campaign.contract.model).name
    if model in catalog.models:
        found += _own(catalog, "model", model)
    for candidate in campaign.candidates:
        found += _own(catalog, "offer", candidate.offer)
        found += _own(catalog, "device", _device(catalog, candidate))
        found += _own(catalog, "link", candidate.link)
    return tuple(dict.fromkeys(found))


def _device(catalog: Catalog, candidate: Candidate) -> str | None:
    return candidate.device or (
        catalog.offer(candidate.offer).device if candidate.offer is not None else None
    )


def _own(catalog: Catalog, kind: Any, name: str | None) -> list[str]:
    if name is None:
        return []
    origin = catalog.origin(kind, name)
    return [] if origin == OURS else [f"{kind} {name} from {origin}"]


def _dollars(campaign: Campaign) -> float | None:
    return None if campaign.budget.usd is None else campaign.budget.usd.value


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
