"""From a campaign file, or a run that was begun, to a campaign under way."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from catalog.digest import catalog_digest
from catalog.entries import Catalog
from catalog.facts import Facts, model_of
from catalog.load import load_campaign, load_catalog, located, shipped_catalog
from catalog.resolve import resolve
from catalog.schema import Campaign
from deploy_templates.plan import LaunchPlan
from deploy_templates.registry import load_runtimes
from deploy_templates.request import Checkpoint
from flows.copying import copied
from flows.describing import ordered_of
from flows.errors import NothingSurvives, UsageError
from flows.interruption import Interrupted
from flows.launch_plans import Requested, request_of
from flows.machine.ordered import Ordered
from flows.preflight import question_of
from flows.rehearsing import shortened, simulated
from flows.relearning import learn_again
from flows.run_plan import gates_json, make_run_plan, rehearsed
from flows.store import Store, find_run, fingerprint8, run_name
from flows.store.places import StorePlace, store_place
from flows.underway import Asked, Surroundings, Underway, utc_now
from flows.weights import prepared_weights
from reports.run import layout
from reports.run.plan_file import RunPlan
from reports.run.read import file_text, read_file

Ask = Callable[[RunPlan], bool]
"""Whether the user agrees to pay for a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    campaign: Path
    rehearse: bool = False
    resume: str | None = None
    yes: bool = False
    budget_usd: float | None = None
    only: tuple[str, ...] = ()
    include_unlikely: bool = False
    include_unknown: bool = False
    folders: tuple[Path, ...] = ()
    keep_on_failure_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """The campaign file with the catalog that it is read by."""

    text: bytes
    campaign: Campaign
    catalog: Catalog
    folders: tuple[Path, ...]
    place: StorePlace

    @property
    def root(self) -> Path:
        """Where its runs are written."""
        return self.place.root

    def launched(self, *, rehearsal: bool) -> Campaign:
        """The campaign as its candidates are started."""
        return rehearsed(self.campaign) if rehearsal else self.campaign


def _read(options: Options, around: Surroundings) -> _Stated:
    campaign = load_campaign(options.campaign)
    return _Stated(
        text=options.campaign.read_bytes() if options.campaign.is_file() else b"",
        campaign=campaign,
        catalog=load_catalog(options.folders),
        folders=options.folders,
        place=store_place(campaign.store, around.state, around.environment),
    )


def _planned(
    stated: _Stated,
    options: Options,
    now: dt.datetime,
    checkpoints: Mapping[str, Checkpoint] | None = None,
) -> RunPlan:
    digest = catalog_digest((shipped_catalog(), *stated.folders))
    fingerprint = fingerprint8(stated.text, digest, rehearsal=options.rehearse)
    with located(options.campaign):
        plan = make_run_plan(
            stated.campaign,
            stated.text,
            stated.catalog,
            stated.folders,
            now=now,
            run=run_name(now, fingerprint),
            rehearsal=options.rehearse,
            only=options.only,
            include_unlikely=options.include_unlikely,
            include_unknown=options.include_unknown,
            checkpoints=checkpoints,
        )
    if options.budget_usd is not None:
        plan = plan.model_copy(update={"budget_usd": options.budget_usd})
    return shortened(plan) if options.rehearse else plan


def _agreed(plan: RunPlan, options: Options, ask: Ask) -> None:
    """Return if there is something to measure, and the user pays for what it costs."""
    measured = [each for each in plan.candidates if each.measured]
    if not measured:
        why = "; ".join(f"{each.name}: {each.skipped}" for each in plan.candidates)
        raise NothingSurvives(plan.campaign, f"no candidate is measured ({why})", "")
    rented = [each.name for each in measured if each.host_class == "cloud"]
    if not rented or plan.rehearsal:
        return
    if plan.budget_usd is None:
        raise UsageError(
            "budget",
            f"machines are rented for {', '.join(rented)} and nothing limits the cost",
            "State budget: {usd: …} in the file, or give --budget-usd",
        )
    if not options.yes and not ask(plan):
        raise UsageError(
            "the campaign", "nobody agreed to pay for it", "Give --yes, or answer the question"
        )


@contextmanager
def taken_up(options: Options, around: Surroundings, ask: Ask) -> Iterator[Underway]:
    """The campaign with its run directory, new or gone on with, while it is ours.

    Raises
    ------
    RunoffError
        Where nothing was begun, with the reason.
    KeyboardInterrupt
        Where it was interrupted before there was anything to report.
    """
    stated = _read(options, around)
    if options.resume is None:
        _agreed(_planned(stated, options, utc_now()), options, ask)
    with around.interruption.heard():
        try:
            store, plan, checkpoints = _opened(stated, options, around)
        except Interrupted:
            raise KeyboardInterrupt from None
        with store, around.progress:
            work = _underway(stated, plan, store, around, checkpoints)
            if options.resume is not None:
                learn_again(work)
            with copied(work, stated.place):
                yield work


def _opened(
    stated: _Stated, options: Options, around: Surroundings
) -> tuple[Store, RunPlan, dict[str, Checkpoint]]:
    if options.resume is not None:
        store, plan = _resumed(stated, options)
        return store, plan, _weights(stated, plan, around)
    checkpoints = _weights(stated, _planned(stated, options, utc_now()), around)
    store, plan = _created(stated, options, checkpoints)
    return store, plan, checkpoints


def _underway(
    stated: _Stated,
    plan: RunPlan,
    store: Store,
    around: Surroundings,
    checkpoints: Mapping[str, Checkpoint],
) -> Underway:
    launched = stated.launched(rehearsal=plan.rehearsal)
    names = {each.name for each in plan.candidates if each.measured}
    asked = Asked(
        requested=_requested(stated, launched, names, checkpoints),
        finished=_physics(stated, plan),
        question=question_of(
            launched,
            stated.catalog,
            load_runtimes(stated.folders),
            today=utc_now().date(),
            store=stated.root,
            checkpoints=around.cache / "checkpoints",
            folders=stated.folders,
            names=names,
        ),
        ordered=_ordered(stated, plan),
    )
    work = Underway(
        store,
        plan,
        launched,
        asked=asked,
        around=around,
    )
    cells = sum(len(work.missing(visit)) for visit in plan.order)
    around.progress.begin([each.name for each in plan.candidates if each.measured], cells)
    around.progress.said(f"run {store.folder.path}: {cells} cells to measure")
    return work


def _created(
    stated: _Stated, options: Options, checkpoints: Mapping[str, Checkpoint]
) -> tuple[Store, RunPlan]:
    now = utc_now()
    plan = _planned(stated, options, now, checkpoints)
    store = Store.create(stated.root, plan.campaign, plan.run)
    gates = gates_json(stated.campaign, stated.catalog, stated.folders, now.date())
    store.write(layout.CAMPAIGN, stated.text.decode())
    store.write(layout.GATES, json.dumps(gates, indent=1, sort_keys=True) + "\n")
    store.write(layout.PLAN, file_text(plan))
    return store, plan


def _resumed(stated: _Stated, options: Options) -> tuple[Store, RunPlan]:
    wanted = options.resume or ""
    run = stated.place.bring(stated.campaign.name, wanted)
    path = find_run(stated.root, stated.campaign.name, run)
    plan = read_file(path / layout.PLAN, RunPlan)
    if options.budget_usd is not None:
        plan = plan.model_copy(update={"budget_usd": options.budget_usd})
    _check_same(stated, options, plan, path)
    store = Store.open(path)
    discarded = store.discard_partials()
    store.record("resumed", why=f"half-written: {', '.join(discarded) or 'nothing'}")
    return store, plan


def _check_same(stated: _Stated, options: Options, plan: RunPlan, path: Path) -> None:
    """Return if what was asked is what the run was begun with; a run answers one question."""
    where = f"--resume {options.resume}"
    if plan.campaign_sha256 != hashlib.sha256(stated.text).hexdigest():
        raise UsageError(
            where,
            f"{options.campaign} is not the file that this run was begun with",
            f"Resume with {path / layout.CAMPAIGN}, or begin a new run",
        )
    if plan.catalog_digest != catalog_digest((shipped_catalog(), *stated.folders)):
        raise UsageError(
            where,
            "the catalog is not the one that this run was begun with",
            "Give the same --catalog folders and runoff's same release, or begin a new run",
        )
    if options.rehearse and not plan.rehearsal:
        raise UsageError(where, f"{path.name} is no rehearsal", "Leave --rehearse out")
    chosen = {
        "--only": options.only,
        "--include-unlikely": options.include_unlikely,
        "--include-unknown": options.include_unknown,
    }
    late = [option for option, given in chosen.items() if given]
    if late:
        raise UsageError(
            where, f"{', '.join(late)} came too late: the plan is made", "Begin a new run"
        )


def _weights(stated: _Stated, plan: RunPlan, around: Surroundings) -> dict[str, Checkpoint]:
    """Weights of candidates, made or checked here before the plan is frozen."""
    launched = stated.launched(rehearsal=plan.rehearsal)
    names = {each.name for each in plan.candidates if each.measured and each.kind == "launch"}
    found = {}
    model = model_of(stated.catalog, launched.contract.model)
    candidates = {each.name: each for each in launched.candidates}
    for name, each in _requested(stated, launched, names).items():

        def told(done: int, total: int, name: str = name) -> None:
            around.interruption.check()
            around.progress.detail(name, f"weights, {done / 1e6:.0f} of {total / 1e6:.0f} MB")

        checkpoint = prepared_weights(
            candidates[name], each, model, cache=around.cache / "checkpoints", told=told
        )
        if checkpoint is not None:
            found[name] = checkpoint
    return found


def _requested(
    stated: _Stated,
    launched: Campaign,
    names: Collection[str],
    checkpoints: Mapping[str, Checkpoint] | None = None,
) -> dict[str, Requested]:
    return {
        each.name: request_of(launched, each, stated.catalog, stated.folders, checkpoints)
        for each in launched.candidates
        if each.name in names
    }


def _ordered(stated: _Stated, plan: RunPlan) -> dict[str, Ordered]:
    """What each candidate's machine must be; a rehearsal's is whatever it is."""
    if plan.rehearsal:
        return {}
    runtimes = load_runtimes(stated.folders)
    found = {
        each.name: ordered_of(each, stated.catalog, runtimes)
        for each in plan.candidates
        if each.measured
    }
    return {name: ordered for name, ordered in found.items() if ordered is not None}


def _physics(stated: _Stated, plan: RunPlan) -> dict[str, Callable[[LaunchPlan], LaunchPlan]]:
    """For each simulated engine, what gives it the step times of its machine."""
    if not plan.rehearsal:
        return {}
    today = dt.date.fromisoformat(plan.created_at[:10])
    facts = Facts.of(stated.campaign, stated.catalog, load_runtimes(stated.folders), today)
    return {
        each.name: simulated(each.runtime, resolve(facts, each))
        for each in stated.campaign.candidates
        if plan.candidate(each.name).measured
    }
