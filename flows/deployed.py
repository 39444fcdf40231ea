"""What a click or a schedule starts on a Prefect server: the verbs, as flows with a form.

Each calls what its verb calls, and ends in a state that says what the exit code says
(``flows.final_state``). Docstrings of the flows are in Google's form, which Prefect reads for
the texts of its form.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from flows.campaign_turn import in_turn
from flows.compare import compare as compare_campaign
from flows.errors import ExitCode
from flows.final_state import Told, ended
from flows.flow_log import told_plainly
from flows.home import state_folder
from flows.progress import Progress
from flows.reevaluate import message_of
from flows.reevaluate import reevaluate as reevaluate_campaign
from flows.signing import sign_off_run
from flows.store.places import store_place
from flows.sweeping import swept
from flows.taking_up import Options
from flows.underway import utc_now
from flows.work_folder import at_work
from reports.run import layout
from reports.run.baseline_file import Versions
from reports.signoff import Refused


def _titled() -> str:
    """A run's name in the UI: the verb, and the campaign or run that it is about."""
    given = flow_run.parameters
    verb = str(flow_run.flow_name).removeprefix("runoff-")
    return f"{verb} {Path(given.get('campaign') or given['run']).stem}"


@flow(name="runoff-compare", flow_run_name=_titled, persist_result=False)
def compare(
    campaign: str,
    *,
    rehearse: bool = False,
    resume: str = "",
    budget_usd: float | None = None,
    yes: bool = False,
    only: list[str] = [],  # noqa: B006 - Prefect's form wants a list, and nobody changes it
    include_unlikely: bool = False,
    include_unknown: bool = False,
    allow: list[int] = [],  # noqa: B006
    catalog: list[str] = [],  # noqa: B006
    skip_when_late_min: float = 15.0,
) -> State[Any]:
    """Measure a campaign's candidates and decide, as `runoff compare` does.

    Args:
        campaign: A campaign file, or the name of one that runoff brings along.
        rehearse: Against simulated engines; costs nothing.
        resume: A run to go on with, if any: its name, `latest`, or `unfinished` (the newest
            one if it was killed within a day, else a new one).
        budget_usd: USD that it may cost; empty: what the file says.
        yes: Rent the machines that the file names; it needs a budget.
        only: Measure these candidates alone.
        include_unlikely: Measure what an assumption votes out.
        include_unknown: Measure what the paper cannot judge.
        allow: Exit codes that count as Completed.
        catalog: Folders of your own catalog, laid over ours.
        skip_when_late_min: A scheduled run that begins so many minutes late is skipped.

    """

    def run(file: Path) -> Told:
        outcome = compare_campaign(
            Options(
                campaign=file,
                rehearse=rehearse,
                resume=resume or None,
                yes=yes,
                budget_usd=budget_usd,
                only=tuple(only),
                include_unlikely=include_unlikely,
                include_unknown=include_unknown,
                folders=tuple(map(Path, catalog)),
            ),
            os.environ,
            Progress(sys.stderr, utc_now),
            lambda _: False,
        )
        report = (outcome.folder / layout.REPORT_HTML).resolve()
        said = f"{outcome.decision.sentence}{_early(outcome.why)}"
        return outcome.exit_code, f"{said} Report: {report}"

    return told_plainly(at_work(lambda: in_turn(campaign, run, allow, skip_when_late_min)))


@flow(name="runoff-reevaluate", flow_run_name=_titled, persist_result=False)
def reevaluate(
    campaign: str,
    baseline: str,
    *,
    prices_only: bool = False,
    versions: Versions = "latest-known",
    baseline_sha256: str = "",
    rehearse: bool = False,
    resume: str = "",
    budget_usd: float | None = None,
    yes: bool = False,
    include_unlikely: bool = False,
    include_unknown: bool = False,
    notify: str = "",
    allow: list[int] = [],  # noqa: B006
    catalog: list[str] = [],  # noqa: B006
    skip_when_late_min: float = 15.0,
) -> State[Any]:
    """Say whether the decision of a pinned run still stands, as `runoff reevaluate` does.

    Args:
        campaign: A campaign file, or the name of one that runoff brings along.
        baseline: The run that is held up: its directory on the worker's machine, or its name.
        prices_only: Decide again at today's prices; nothing is measured.
        versions: The newest releases that the catalog knows, or the pinned ones.
        baseline_sha256: Empty, or what the SHA-256 of the baseline's manifest must begin with.
        rehearse: Against simulated engines; costs nothing.
        resume: A re-evaluation to go on with, if any: its name, `latest`, or `unfinished` (the
            newest one if it was killed within a day, else a new one).
        budget_usd: USD that it may cost; empty: what the file says.
        yes: Rent the machines that the file names; it needs a budget.
        include_unlikely: Measure what an assumption votes out.
        include_unknown: Measure what the paper cannot judge.
        notify: Empty, or a block of this server that tells the answer, as in webhook/team.
        allow: Exit codes that count as Completed.
        catalog: Folders of your own catalog, laid over ours.
        skip_when_late_min: A scheduled run that begins so many minutes late is skipped.

    """

    def run(file: Path) -> Told:
        found = reevaluate_campaign(
            file,
            baseline,
            prices_only=prices_only,
            versions=versions,
            baseline_sha256=baseline_sha256 or None,
            rehearse=rehearse,
            resume=resume or None,
            yes=yes,
            budget_usd=budget_usd,
            include_unlikely=include_unlikely,
            include_unknown=include_unknown,
            folders=tuple(map(Path, catalog)),
            notify=notify or None,
            environment=os.environ,
            progress=Progress(sys.stderr, utc_now),
        )
        said = message_of(found)
        told = "" if found.told is None else f" {found.told}"
        return found.exit_code, f"{said.sentence}{_early(said.ended_early)}{told} {said.place}"

    return told_plainly(at_work(lambda: in_turn(campaign, run, allow, skip_when_late_min)))


@flow(name="runoff-signoff", flow_run_name=_titled, persist_result=False)
def signoff(
    run: str,
    *,
    by: str,
    role: str,
    statement: str,
    waive: list[str] = [],  # noqa: B006
    key: str = "",
) -> State[Any]:
    """Approve exactly this evidence, as `runoff signoff` does, or hear why it cannot be.

    Args:
        run: The directory of a run, on the worker's machine.
        by: Who approves.
        role: In which role.
        statement: What is approved, and for what use.
        waive: Failed checks that are accepted, each as CHECK:REASON.
        key: Empty, or sign with this SSH key of the worker's machine.

    """

    def sign() -> Told:
        found, _ = sign_off_run(
            Path(run),
            by=by,
            role=role,
            statement=statement,
            waive=waive,
            key=Path(key) if key else None,
            now=utc_now(),
            environment=os.environ,
        )
        if isinstance(found, Refused):
            reasons = "; ".join(f"{each.rule}: {each.seen}" for each in found.reasons)
            return ExitCode.EVIDENCE, f"not signed: {reasons}"
        until = found.valid_until or "no date"
        return ExitCode.DECIDED, f"signed by {by}, valid until {until}: {found.sentence}"

    return told_plainly(at_work(lambda: ended(sign)))


@flow(name="runoff-sweep", persist_result=False)
def sweep(stores: list[str] = ["runs"]) -> State[Any]:  # noqa: B006
    """Remove machines that are past their expiry or whose campaign is dead.

    Args:
        stores: Folders in which runs are kept; those copied to S3 are known.

    """

    def remove() -> Told:
        state = state_folder(os.environ)
        roots = [store_place(each, state, os.environ).root for each in stores]
        gone = swept(os.environ, roots, utc_now)
        return ExitCode.DECIDED, f"removed: {', '.join(gone) or 'nothing was left behind'}"

    return told_plainly(at_work(lambda: ended(remove)))


def _early(why: str | None) -> str:
    return "" if why is None else f" It ended early: {why}."
