"""From a campaign file, or a run that was begun, to a campaign under way."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from catalog.calibration.file import calibration_text
from catalog.digest import catalog_digest
from catalog.entries import Catalog
from catalog.facts import model_of
from catalog.load import load_campaign, load_catalog, located, shipped_catalog
from catalog.schema import Campaign
from deploy_templates.plan import LaunchPlan
from deploy_templates.registry import load_runtimes
from deploy_templates.request import Checkpoint
from flows.calibrate.apply import Applied, at_hand
from flows.calibrate.paper_again import PaperAgain
from flows.copying import copied
from flows.describing import ordered_of
from flows.errors import NothingSurvives, RunoffError, UsageError
from flows.foretelling import knowns_of, write_prediction
from flows.interruption import Interrupted
from flows.launch_plans import Requested, request_of
from flows.machine.ordered import Ordered
from flows.pinning import Derived
from flows.preflight import question_of
from flows.qualifying import require_quality
from flows.rehearsing import engines, shortened
from flows.relearning import learn_again
from flows.run_plan import choice_of, gates_json, make_run_plan, paper_vote, rehearsed
from flows.run_plan.candidates import NOWHERE
from flows.store import Store, find_run, fingerprint8, run_name
from flows.store.places import StorePlace, store_place
from flows.underway import Asked, Surroundings, Underway, utc_now
from flows.unfinished import UNFINISHED, unfinished
from flows.weights import prepared_weights
from flows.whole import is_whole
from reports.run import layout
from reports.run.ledger_file import read_ledger
from reports.run.plan_file import RunPlan
from reports.run.read import file_text, read_file

Ask = Callable[[RunPlan], bool]
"""Whether the user agrees to pay for a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for; ``derived`` is what the campaign becomes in a re-evaluation.

    ``for_quality``: only a run of which quality can be measured is gone on with.
    """

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
    derived: Derived | None = None
    for_quality: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """The campaign file with the catalog that it is read by."""

    text: bytes
    campaign: Campaign
    catalog: Catalog
    calibrated: Applied
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
    if options.derived is not None:
        campaign, text = options.derived.campaign, options.derived.text
    else:
        campaign = load_campaign(options.campaign)
        text = options.campaign.read_bytes() if options.campaign.is_file() else b""
    calibrated = at_hand(campaign, load_catalog(options.folders), (), around.state)
    return _Stated(
        text=text,
        campaign=campaign,
        catalog=calibrated.catalog,
        calibrated=calibrated,
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
            file=options.campaign,
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
    rented = _rented(plan)
    _require_keepable(rented, options)
    if not rented:
        return
    _require_machines(plan, rented)
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


def _rented(plan: RunPlan) -> list[str]:
    """Candidates for which a machine is rented."""
    if plan.rehearsal:
        return []
    return [
        each.name for each in plan.candidates if each.measured and each.host_class == "cloud"
    ]


def _require_machines(plan: RunPlan, rented: Collection[str]) -> None:
    """Return if somebody gives out each machine: no money makes one of a device alone."""
    nowhere = [name for name in rented if NOWHERE in plan.candidate(name).threats]
    if nowhere:
        raise UsageError(
            f"candidates {', '.join(nowhere)}",
            NOWHERE,
            "Give each an offer or a host, or leave it out by --only; "
            "--rehearse needs no machine",
        )


def _require_keepable(rented: Collection[str], options: Options) -> None:
    """Return unless a machine is to be kept where there is none that goes."""
    if options.keep_on_failure_s is not None and not rented:
        raise UsageError(
            "--keep-on-failure",
            "no machine of this campaign is rented; one of your own stays, its server stopped "
            "and its settings put back",
            "Leave it out: launch/ of the run has the server's log and what the machine showed",
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
    options = _settled(stated, options)
    if options.resume is None:
        _agreed(_planned(stated, options, utc_now()), options, ask)
    with around.interruption.heard():
        try:
            store, plan, checkpoints = _opened(stated, options, around)
        except Interrupted:
            raise KeyboardInterrupt from None
        with store, around.progress:
            again = options.resume is not None
            discarded = store.discard_partials() if again else ()
            work = _underway(stated, options, plan, store, around, checkpoints=checkpoints)
            if again:
                learn_again(work)
                _go_on(work, discarded)
            write_prediction(work, stated.root)
            try:
                with copied(work, stated.place):
                    yield work
            except RunoffError:
                if not again and stated.place.bucket is None:
                    _drop_unbegun(store)
                raise
            finally:
                work.measurers.end()


def _drop_unbegun(store: Store) -> None:
    """Remove the directory of a new run of which not even the first step was begun."""
    if not read_ledger(store.folder.file(layout.LEDGER)):
        shutil.rmtree(store.folder.path)


def _settled(stated: _Stated, options: Options) -> Options:
    """What was asked, with the run that ``--resume unfinished`` means, or as a new one."""
    if options.resume != UNFINISHED:
        return options
    anew = replace(options, resume=None)
    now = utc_now()
    run = unfinished(stated.root, _planned(stated, anew, now), now)
    if run is None:
        return anew
    return replace(options, resume=run, only=(), include_unlikely=False, include_unknown=False)


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
    options: Options,
    plan: RunPlan,
    store: Store,
    around: Surroundings,
    *,
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
        paper=_paper(stated, options, plan),
        file=options.campaign,
        vocabulary=model_of(stated.catalog, launched.contract.model).config.get("vocab_size"),
        known=knowns_of(stated.campaign, stated.catalog, load_runtimes(stated.folders), plan),
    )
    work = Underway(
        store,
        plan,
        launched,
        asked=asked,
        around=around,
    )
    for line in stated.calibrated.notes:
        around.progress.said(f"note: {line}")
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
    if options.derived is not None:
        store.write(layout.BASELINE, file_text(options.derived.baseline))
    store.write(layout.PLAN, file_text(plan))
    for name, file in stated.calibrated.used.items():
        host = plan.candidate(name).host
        store.write(f"hosts/{host}/{layout.CALIBRATION}", calibration_text(file))
    return store, plan


def _resumed(stated: _Stated, options: Options) -> tuple[Store, RunPlan]:
    wanted = options.resume or ""
    run = stated.place.bring(stated.campaign.name, wanted)
    path = find_run(stated.root, stated.campaign.name, run)
    plan = read_file(path / layout.PLAN, RunPlan)
    if options.budget_usd is not None:
        plan = plan.model_copy(update={"budget_usd": options.budget_usd})
    _check_same(stated, options, plan, path)
    if options.for_quality:
        require_quality(plan, path)
    _refuse_signed(path)
    return Store.open(path), plan


def _refuse_signed(path: Path) -> None:
    if (path / layout.SIGNOFF).exists():
        raise UsageError(
            str(path),
            "it is signed, and a signed run is never altered",
            "Look at it with runoff report, or begin a new run",
        )


def _go_on(work: Underway, discarded: Collection[str]) -> None:
    """Say in the ledger that the run is resumed; one that is whole stays as it is."""
    work.is_whole = is_whole(work)
    if work.is_whole:
        work.progress.said("nothing is left to measure: the run stays as it is")
    else:
        work.record("resumed", why=f"half-written: {', '.join(discarded) or 'nothing'}")


def _check_same(stated: _Stated, options: Options, plan: RunPlan, path: Path) -> None:
    """Return if what was asked is what the run was begun with; a run answers one question."""
    where = f"--resume {options.resume}"
    _require_keepable(_rented(plan), options)
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


def _paper(stated: _Stated, options: Options, plan: RunPlan) -> PaperAgain:
    """The vote as it was put for the plan, to be put again with measured rates."""
    today = dt.date.fromisoformat(plan.created_at[:10])
    choice = choice_of(
        stated.campaign,
        include_unlikely=options.include_unlikely,
        include_unknown=options.include_unknown,
    )
    return PaperAgain(
        campaign=stated.campaign,
        catalog=stated.catalog,
        vote=lambda known: paper_vote(stated.campaign, known, stated.folders, today),
        against=choice.against,
    )


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
    return engines(stated.campaign, stated.catalog, load_runtimes(stated.folders), today)
