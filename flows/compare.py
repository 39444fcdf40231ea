"""``runoff compare``: from a campaign file, or a run that was begun, to its decision."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from catalog.digest import catalog_digest
from catalog.entries import Catalog
from catalog.facts import Facts, model_of
from catalog.load import load_campaign, load_catalog, located, shipped_catalog
from catalog.resolve import resolve
from catalog.schema import Campaign
from deploy_templates.plan import LaunchPlan
from deploy_templates.registry import load_runtimes
from deploy_templates.request import Checkpoint
from flows.closing import decision_of
from flows.errors import ExitCode, NothingSurvives, UsageError
from flows.home import cache_folder, state_folder
from flows.interruption import Interrupted, Interruption
from flows.launch_plans import Requested, request_of
from flows.prefect_server import PrefectServer, client_settings
from flows.preflight import question_of
from flows.progress import Progress
from flows.rehearsing import shortened, simulated
from flows.run_plan import gates_json, make_run_plan, rehearsed
from flows.store import Store, find_run, fingerprint8, run_name
from flows.underway import Asked, Surroundings, Underway, utc_now
from flows.weights import prepared_weights
from reports.run import layout
from reports.run.decision_file import Decision
from reports.run.plan_file import RunPlan
from reports.run.read import file_text, read_file
from reports.run.summary_file import Summary

API_URL: Final = "PREFECT_API_URL"

Ask = Callable[[RunPlan], bool]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a campaign ended: its directory, its decision, and the exit code."""

    folder: Path
    decision: Decision
    summary: Summary
    exit_code: ExitCode
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Decision and summary as strict JSON values, with where the run is."""
        return {
            "run": str(self.folder),
            "exit_code": int(self.exit_code),
            "ended_early": self.why,
            "decision": self.decision.model_dump(mode="json"),
            "summary": self.summary.model_dump(mode="json"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """The campaign file with the catalog that it is read by."""

    text: bytes
    campaign: Campaign
    catalog: Catalog
    folders: tuple[Path, ...]

    @property
    def root(self) -> Path:
        """Where its runs lie."""
        return Path(self.campaign.store)

    def launched(self, *, rehearsal: bool) -> Campaign:
        """The campaign as its candidates are started."""
        return rehearsed(self.campaign) if rehearsal else self.campaign


def compare(
    options: Options, environment: Mapping[str, str], progress: Progress, ask: Ask
) -> Outcome:
    """Measure the campaign to its end and decide.

    Parameters
    ----------
    ask
        Whether the user agrees to pay for the plan; asked only where machines are rented.

    Raises
    ------
    RunoffError
        Where nothing was begun, or nothing could be concluded.
    """
    stated = _read(options)
    around = Surroundings(
        environment=environment,
        cache=cache_folder(environment),
        state=state_folder(environment),
        interruption=Interruption(),
        progress=progress,
        has_shared_server=bool(environment.get(API_URL)),
    )
    with around.interruption.heard():
        plan = None if options.resume is not None else _planned(stated, options, utc_now())
        if plan is not None:
            _agreed(plan, options, ask)
        with _prefect(around) as ready, _begun(stated, options, plan, around) as work:
            from flows.campaign import run_campaign  # noqa: PLC0415 - takes a second

            ready()
            run_campaign(work)
    return _outcome(work)


def _read(options: Options) -> _Stated:
    return _Stated(
        text=options.campaign.read_bytes() if options.campaign.is_file() else b"",
        campaign=load_campaign(options.campaign),
        catalog=load_catalog(options.folders),
        folders=options.folders,
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
def _begun(
    stated: _Stated, options: Options, plan: RunPlan | None, around: Surroundings
) -> Iterator[Underway]:
    """The campaign with its run directory, new or taken up again, while it is ours."""
    try:
        if plan is None:
            store, plan = _resumed(stated, options)
            checkpoints = _weights(stated, plan, around)
        else:
            checkpoints = _weights(stated, plan, around)
            store, plan = _created(stated, options, checkpoints)
    except Interrupted:  # nothing was begun: there is nothing to report
        raise KeyboardInterrupt from None
    with store, around.progress:
        yield _underway(stated, plan, store, around, checkpoints)


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
    path = find_run(stated.root, stated.campaign.name, wanted)
    plan = read_file(path / layout.PLAN, RunPlan)
    if options.budget_usd is not None:
        plan = plan.model_copy(update={"budget_usd": options.budget_usd})
    if plan.campaign_sha256 != hashlib.sha256(stated.text).hexdigest():
        raise UsageError(
            f"--resume {wanted}",
            f"{options.campaign} is not the file that this run was begun with",
            f"Resume with {path / layout.CAMPAIGN}, or begin a new run",
        )
    store = Store.open(path)
    discarded = store.discard_partials()
    store.record("resumed", why=f"half-written: {', '.join(discarded) or 'nothing'}")
    return store, plan


def _weights(stated: _Stated, plan: RunPlan, around: Surroundings) -> dict[str, Checkpoint]:
    """Weights of this machine's candidates, made or checked before the plan is frozen."""
    launched = stated.launched(rehearsal=plan.rehearsal)
    local = {
        each.name for each in plan.candidates if each.measured and each.host_class == "local"
    }
    found = {}
    model = model_of(stated.catalog, launched.contract.model)
    candidates = {each.name: each for each in launched.candidates}
    for name, each in _requested(stated, launched, local).items():

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


@contextmanager
def _prefect(around: Surroundings) -> Iterator[Callable[[], None]]:
    """Prefect's settings, and a server where the user names none; called, it is waited for.

    They are set before Prefect is imported, which is why nothing imports it earlier.
    """
    home = around.state / "prefect"
    if around.has_shared_server:
        os.environ.update({"DO_NOT_TRACK": "1", "PREFECT_LOGGING_LEVEL": "CRITICAL"})
        yield lambda: None
        return
    server = PrefectServer(home, around.environment)
    os.environ.update(client_settings(home, server.url))
    try:
        yield lambda: _waited(server)
    finally:
        server.stop()


def _waited(server: PrefectServer) -> None:
    server.wait()


def _outcome(work: Underway) -> Outcome:
    if work.still_billed is not None:
        raise work.still_billed
    decision = decision_of(work)
    why = work.interruption.why
    code = ExitCode(decision.exit_code)
    if work.failure is not None:
        code, why = work.failure.exit_code, str(work.failure)
    elif why is not None:
        code = ExitCode.INTERRUPTED
    elif work.lost is not None:
        why = str(work.lost)
    return Outcome(
        folder=work.store.folder.path,
        decision=decision,
        summary=read_file(work.store.folder.file(layout.SUMMARY), Summary),
        exit_code=code,
        why=why,
    )
