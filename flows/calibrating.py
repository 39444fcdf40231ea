"""A campaign's hosts calibrated before the first launch, and the paper vote put again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from catalog.calibration.file import calibration_text, read_calibration
from catalog.verdict import Status
from flows.budget.steps import CALIBRATION
from flows.calibrate.home import keep
from flows.calibrate.measure import FarTarget, HereTarget, Target, calibrated
from flows.calibrate.order import SHORT, Manner
from flows.calibrate.paper_again import PaperAgain
from flows.errors import InfrastructureError, RunoffError
from flows.underway import Underway, utc_now
from reports.run import layout
from reports.run.ledger_file import read_ledger

CALIBRATED: Final = "calibrated"
NOT_CALIBRATED: Final = "not-calibrated"


def calibrate_host(work: Underway, host: str) -> None:
    """Measure what a host reaches, keep it, and put the paper vote again.

    A campaign that does not ask for it, a rehearsal and an endpoint are left as they are. A
    host that cannot be calibrated is judged by assumptions, as before, and that is told.

    Raises
    ------
    BudgetStop
        If it may take more time or money than is left.
    """
    held, paper = work.held.get(host), work.asked.paper
    if not work.campaign.calibrate or work.plan.rehearsal or paper is None:
        return
    if held is None or held.host is None:
        return
    path = work.store.folder.host(host) / layout.CALIBRATION
    if path.is_file():
        _as_before(work, host)
        return
    work.afford(f"a calibration of {host}", _most_s(work, host))
    for name in work.candidates(host):
        work.progress.state(name, "its host is calibrated")
    manner = replace(SHORT, exploratory=True) if work.plan.exploratory else Manner()
    try:
        file = calibrated(
            _target(work, host),
            manner,
            paper.catalog,
            utc_now(),
            lambda line: work.progress.said(f"calibration of {host}: {line}"),
        )
        keep(work.around.state, file)
    except RunoffError as error:
        work.record(NOT_CALIBRATED, host=host, why=error.seen)
        work.progress.said(f"note: {host} is judged by assumptions: {error}")
        return
    work.store.write(f"hosts/{host}/{layout.CALIBRATION}", calibration_text(file))
    given_up = _judged_again(work, host, paper)
    work.record(CALIBRATED, host=host, fingerprint=file.fingerprint, given_up=given_up)


def _most_s(work: Underway, host: str) -> float:
    """The most that it may take, in s, as the plan's estimate has it."""
    found = ((each.host, each.what, each.high_s) for each in work.plan.estimate)
    return sum(high_s for name, what, high_s in found if (name, what) == (host, CALIBRATION))


def _target(work: Underway, host: str) -> Target:
    held = work.held[host]
    stated = work.candidate(work.candidates(host)[0]).host
    if held.host is None or held.host.is_here:
        return HereTarget(work.around.cache)
    from flows.hosts.there import FarHost  # noqa: PLC0415 - paramiko takes a while to import

    if not isinstance(held.host, FarHost):
        raise InfrastructureError(f"host {host!r}", "nothing can be run on it", "")
    return FarTarget(stated or host, held.host.host)


def _judged_again(work: Underway, host: str, paper: PaperAgain) -> dict[str, str]:
    """Write the vote with every calibration of the run; who is not measured now, and why.

    What only an assumption had spoken against is not taken up in this run: its plan stands.
    """
    files = {
        facts.name: read_calibration(path)
        for facts in work.plan.candidates
        if (path := work.store.folder.host(facts.host) / layout.CALIBRATION).is_file()
    }
    screen = paper.judged(files)
    text = json.dumps(screen.to_json(), indent=1, sort_keys=True)
    work.store.write(layout.GATES_CALIBRATED, text + "\n")
    given_up = {}
    for verdict in screen.candidates:
        facts = work.facts(verdict.name)
        if facts.host != host or facts.verdict == verdict.verdict.value:
            continue
        work.progress.said(
            f"note: {verdict.name} was {facts.verdict} by assumptions and is "
            f"{verdict.verdict.value} by what was measured on {host}"
        )
        why = paper.against(work.candidate(verdict.name), verdict)
        if facts.measured and verdict.verdict is Status.UNLIKELY and why is not None:
            given_up[verdict.name] = f"after the calibration of its host: {why}"
    _give_up(work, given_up)
    return given_up


def _as_before(work: Underway, host: str) -> None:
    """A resumed run gives up whom it had given up."""
    told: Mapping[str, Any] = {}
    for entry in read_ledger(work.store.folder.file(layout.LEDGER)):
        if entry.get("event") == CALIBRATED and entry.get("host") == host:
            told = entry.get("given_up") or {}
    _give_up(work, told)


def _give_up(work: Underway, reasons: Mapping[str, str]) -> None:
    for name, why in reasons.items():
        work.give_up(name, why)
        work.progress.state(name, why)
