"""``runoff reevaluate``: whether the decision of a pinned run still stands, measured or not."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from catalog.load import load_campaign, load_catalog
from flows.compare import Outcome, compare
from flows.errors import ExitCode, UsageError
from flows.home import state_folder
from flows.notifications import Message, check_block, tell
from flows.pinning import Derived, Pinned, derived, pinned, taken_up_again
from flows.progress import Progress, progress_for
from flows.run_plan.candidates import price_facts
from flows.run_plan.contract import contract_facts, rule_facts
from flows.run_plan.standing import paper_vote
from flows.store import find_run
from flows.store.places import StorePlace, store_place
from flows.taking_up import Ask, Options
from flows.underway import utc_now
from flows.unfinished import UNFINISHED
from reports.errors import ReportsError
from reports.reevaluate.prices import Today, at_todays_prices
from reports.run import layout
from reports.run.baseline_file import Versions
from reports.run.layout import RunFolder
from reports.run.read import file_text, read_file
from reports.run.reevaluation_file import Reevaluation
from reports.run.write import write_whole

PRICES = "prices"  # below the campaign's runs: re-evaluations in which nothing was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Reevaluated:
    """How a re-evaluation ended: its answer, where it lies, and the exit code.

    ``file`` is the ``reevaluation.json``, ``outcome`` what was measured (None: prices only),
    ``why`` what ended it early. ``told`` says who was told of it, or why nobody was (None:
    nobody was to be).
    """

    file: Path
    answer: Reevaluation
    outcome: Outcome | None
    exit_code: ExitCode
    why: str | None = None
    told: str | None = None

    @property
    def report(self) -> Path | None:
        """The report; None where nothing was measured."""
        return None if self.outcome is None else self.outcome.folder / layout.REPORT_HTML

    def to_json(self) -> dict[str, Any]:
        """The answer as strict JSON values, with where it lies."""
        return {
            "file": str(self.file),
            "run": None if self.outcome is None else str(self.outcome.folder),
            "exit_code": int(self.exit_code),
            "ended_early": self.why,
            "reevaluation": self.answer.model_dump(mode="json"),
        }


def nobody_asks(_: object) -> bool:
    """Nobody is there who would pay."""
    return False


def reevaluate(
    campaign: Path,
    baseline: str,
    *,
    prices_only: bool = False,
    versions: Versions = "latest-known",
    baseline_sha256: str | None = None,
    rehearse: bool = False,
    resume: str | None = None,
    yes: bool = False,
    budget_usd: float | None = None,
    include_unlikely: bool = False,
    include_unknown: bool = False,
    folders: Sequence[Path] = (),
    notify: str | None = None,
    environment: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    ask: Ask = nobody_asks,
) -> Reevaluated:
    """Hold today's champion and challengers against a pinned run, and answer.

    Parameters
    ----------
    campaign, baseline
        The campaign file as it is today, and a run of it: its directory or its name.
    prices_only
        Decide again from the baseline's own figures at today's prices; nothing is measured.
    versions
        ``latest-known``: the newest release that the catalog knows of each runtime;
        ``pinned``: what the file states, else what the baseline measured.
    baseline_sha256
        What the SHA-256 of the baseline's manifest must begin with.
    resume
        A re-evaluation to go on with: its name, ``latest``, or ``unfinished`` (the newest one
        if it asks the same and was killed within a day, else a new one).
    notify
        The block of the Prefect server by which the answer is told: ``TYPE/NAME``, as in
        ``webhook/team``. What cannot be told is said in ``told`` and changes nothing.
    ask
        Whether somebody agrees to pay for the plan; asked only where machines are rented.

    Raises
    ------
    RunoffError, ReportsError, CatalogError
        Where nothing was begun or concluded; an EvidenceError for a baseline that has changed.
    """
    given = os.environ if environment is None else environment
    if notify is not None:
        check_block(notify, given)
    stated = load_campaign(campaign)
    place = store_place(stated.store, state_folder(given), given)
    pin = pinned(
        place.root,
        stated.name,
        _brought(place, stated.name, baseline),
        sha256=baseline_sha256,
    )
    if prices_only:
        _refuse_beside_prices(rehearse=rehearse, resume=resume)
        found = _at_prices(campaign, pin, folders, place.root, utc_now())
        return _told(found, notify)
    options = Options(
        campaign=campaign,
        rehearse=rehearse,
        resume=resume,
        yes=yes,
        budget_usd=budget_usd,
        include_unlikely=include_unlikely,
        include_unknown=include_unknown,
        folders=tuple(folders),
        derived=_begun(campaign, pin, place, resume)
        or derived(campaign, pin, load_catalog(folders), folders, versions=versions),
    )
    told = progress or progress_for(sys.stderr, given, utc_now)
    return _told(_answered(compare(options, given, told, ask)), notify)


def _begun(
    campaign: Path, pin: Pinned, place: StorePlace, resume: str | None
) -> Derived | None:
    """The campaign of the run that is resumed; None for a new one."""
    if resume is None or resume == UNFINISHED:
        return None
    name = pin.run.plan.campaign
    run = RunFolder(find_run(place.root, name, place.bring(name, resume)))
    found = taken_up_again(campaign, run)
    if found.baseline.manifest_sha256 != pin.manifest_sha256:
        raise UsageError(
            f"--resume {resume}",
            f"it is held against the run {found.baseline.run}, not {pin.run.plan.run}",
            f"Give --baseline {found.baseline.run}",
        )
    return found


def _brought(place: StorePlace, campaign: str, baseline: str) -> str:
    """The baseline's name or directory; one that lies in a bucket alone is fetched."""
    is_here = (Path(baseline) / layout.PLAN).is_file()
    return baseline if is_here else place.bring(campaign, baseline)


def _refuse_beside_prices(*, rehearse: bool, resume: str | None) -> None:
    for option, is_given in (("--rehearse", rehearse), ("--resume", resume is not None)):
        if is_given:
            raise UsageError(
                "--prices-only", f"nothing is measured, and {option} is given", "Leave one out"
            )


def _at_prices(
    campaign: Path, pin: Pinned, folders: Sequence[Path], root: Path, now: dt.datetime
) -> Reevaluated:
    stated = load_campaign(campaign)
    vote = paper_vote(stated, load_catalog(folders), folders, now.date())
    verdicts = {verdict.name: verdict for verdict in vote.candidates}
    today = Today(
        contract=contract_facts(stated.contract),
        prices={
            each.name: price_facts(each, verdicts[each.name]) for each in stated.candidates
        },
        rules=rule_facts(stated),
    )
    answer = at_todays_prices(pin.run, today, now, manifest_sha256=pin.manifest_sha256)
    text = file_text(answer)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    file = root / stated.name / PRICES / f"{now:%Y%m%dT%H%M%SZ}-{digest}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode())
    return Reevaluated(
        file=file, answer=answer, outcome=None, exit_code=ExitCode(answer.exit_code)
    )


def _told(found: Reevaluated, notify: str | None) -> Reevaluated:
    if notify is None:
        return found
    return replace(found, told=tell(notify, message_of(found)))


def message_of(found: Reevaluated) -> Message:
    """What is told of a re-evaluation: the answer, why, the exit code, where the rest is."""
    answer = found.answer
    return Message(
        subject=f"{answer.campaign}: {answer.answer}",
        sentence=answer.sentence,
        reasons=tuple(f"{each.kind}: {each.sentence}" for each in answer.reasons),
        exit_code=int(found.exit_code),
        stamp=answer.stamp,
        place=str((found.report or found.file).resolve()),
        ended_early=found.why,
    )


def _answered(outcome: Outcome) -> Reevaluated:
    """The answer's exit code, unless the campaign itself ended early."""
    file = outcome.folder / layout.REEVALUATION
    if not file.is_file():
        raise ReportsError(str(file), "the run has no answer", "Resume it: it concludes again")
    answer = read_file(file, Reevaluation)
    code = ExitCode(answer.exit_code)
    if outcome.exit_code is not ExitCode(outcome.decision.exit_code):
        code = outcome.exit_code  # it ended early: budget, Ctrl-C
    return Reevaluated(
        file=file, answer=answer, outcome=outcome, exit_code=code, why=outcome.why
    )
