"""Who stands in a run: every candidate with its vote and its launch, and who is measured."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from catalog.architecture import UnknownArchitecture, read_config
from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.facts import model_of
from catalog.schema import Campaign
from catalog.screen import Screen, screen
from catalog.verdict import Status
from deploy_templates.plan import LaunchPlan
from deploy_templates.registry import load_runtimes
from deploy_templates.request import Checkpoint
from flows.launch_plans import Planned, planned
from flows.matrix import contract_point
from flows.run_plan.candidates import Choice, Shared, candidate_facts
from flows.run_plan.rehearsed import ENGINE, rehearsed
from reports.run.plan_file import CandidateFacts

_MEASURE: Final = "measure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is asked for beside its file."""

    rehearsal: bool = False
    only: tuple[str, ...] = ()
    include_unlikely: bool = False
    include_unknown: bool = False
    checkpoints: Mapping[str, Checkpoint] | None = None

    def choice(self, campaign: Campaign) -> Choice:
        """Who is measured, by the file and by what is asked beside it."""
        return choice_of(
            campaign,
            self.only,
            include_unlikely=self.include_unlikely,
            include_unknown=self.include_unknown,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The candidates of a run, and the launches of those that are measured."""

    candidates: tuple[CandidateFacts, ...]
    launches: tuple[Planned, ...]

    @classmethod
    def of(
        cls,
        campaign: Campaign,
        catalog: Catalog,
        folders: Sequence[Path],
        asked: Asked,
        today: dt.date,
    ) -> Self:
        """Everybody, in file order; CatalogError for what cannot be meant or launched."""
        _check_names(campaign, asked.only)
        vote = paper_vote(campaign, catalog, folders, today)
        verdicts = {verdict.name: verdict for verdict in vote.candidates}
        choice = asked.choice(campaign)
        skipped = {
            each.name: choice.against(each, verdicts[each.name]) for each in campaign.candidates
        }
        rejected = [name for name, each in verdicts.items() if each.verdict is Status.REJECT]
        left_out = [name for name in skipped if asked.only and name not in asked.only]
        launches = planned(
            rehearsed(campaign) if asked.rehearsal else campaign,
            catalog,
            folders,
            checkpoints=asked.checkpoints,
            lenient=(*rejected, *left_out),
            finished=_finished(campaign, catalog, folders, asked, today),
        )
        shared = Shared(
            is_moe=_is_moe(campaign, catalog),
            has_decision_point=contract_point(campaign) is not None,
            rehearsal=asked.rehearsal,
        )
        return cls(
            candidates=tuple(
                candidate_facts(shared, each, verdicts[each.name], one, skipped[each.name])
                for each, one in zip(campaign.candidates, launches, strict=True)
            ),
            launches=tuple(one for one in launches if skipped[one.name] is None),
        )

    @property
    def is_simulated(self) -> bool:
        """Whether any engine that is measured is the simulated one."""
        return any(one.plan is not None and one.plan.simulation for one in self.launches)


def _finished(
    campaign: Campaign,
    catalog: Catalog,
    folders: Sequence[Path],
    asked: Asked,
    today: dt.date,
) -> dict[str, Callable[[LaunchPlan], LaunchPlan]]:
    """What simulated engines are launched with beside what their plans render."""
    if not asked.rehearsal and all(each.runtime != ENGINE for each in campaign.candidates):
        return {}
    from flows.rehearsing import engines  # noqa: PLC0415 - engines are imported there

    return engines(campaign, catalog, load_runtimes(folders), today)


def choice_of(
    campaign: Campaign,
    only: tuple[str, ...] = (),
    *,
    include_unlikely: bool = False,
    include_unknown: bool = False,
) -> Choice:
    """Who is measured, by the file and by what is asked beside it."""
    stated = campaign.screening
    return Choice(
        only=only,
        unlikely=include_unlikely or stated.unlikely == _MEASURE,
        unknown=include_unknown or stated.unknown == _MEASURE,
    )


def paper_vote(
    campaign: Campaign, catalog: Catalog, folders: Sequence[Path], today: dt.date
) -> Screen:
    """The gates' verdicts on the campaign's candidates; ``today`` ages the prices."""
    return screen(campaign, catalog, load_runtimes(folders), today)


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
