"""One replication of one cell, from a running server to files that are kept."""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from flows.bench.probe import Survey
from flows.bench.spec import CellSpec
from flows.collect.source import launched_source
from flows.errors import InfrastructureError, UsageError
from flows.interruption import Interrupted
from flows.matrix import cell_spec
from flows.measuring.jobs import Ask, Cell, Measured
from flows.placing import load_host
from flows.remote.lost import TakenBackError
from flows.serving import Serving, watched
from flows.underway import Underway, utc_now
from reports.run.cell_file import CellFile
from reports.run.layout import CellName
from reports.run.plan_file import LoadPoint, Visit
from reports.telemetry.voids import Judgement, is_measured_again, judged

_WHERE: Final = "the load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A measured replication: where its ``cell.json`` is, and the SHA-256 of it."""

    path: str
    sha256: str


def spec_of(work: Underway, serving: Serving, visit: Visit, point: LoadPoint) -> CellSpec:
    """What the load generator is told of a replication."""
    return cell_spec(
        work.plan,
        work.campaign.contract,
        work.facts(visit.candidate),
        point,
        visit.replication,
        endpoints=serving.endpoints,
        served_model=serving.served_model,
        launch=serving.launch,
    )


def survey_once(work: Underway, serving: Serving, visit: Visit, point: LoadPoint) -> Survey:
    """How the server counts; asked once per launch."""
    if serving.survey is None:
        spec = spec_of(work, serving, visit, point)
        with watched(serving):
            serving.survey = serving.measurer.ask(Ask(spec=spec))
    return serving.survey


def measure_into(
    work: Underway, serving: Serving, visit: Visit, point: LoadPoint, folder: Path
) -> Measured:
    """One replication measured into a folder, valid or not.

    Raises
    ------
    LaunchError
        If the server died meanwhile.
    TakenBackError
        If the machine's cloud takes it back.
    Interrupted
        If the campaign was asked to end.
    """
    slo = work.plan.contract.slo
    found = survey_once(work, serving, visit, point)
    job = Cell(
        spec=spec_of(work, serving, visit, point),
        folder=folder,
        survey=found,
        launched=None if serving.plan is None else launched_source(serving.plan),
        percentile=slo.percentile,
        first="answer" if slo.ttft_counts == "answer_token" else "token",
        place=serving.place,
        sampling=serving.sampling,
    )
    with watched(serving):
        measured = serving.measurer.measure(job)
    if measured.interrupted:
        work.interruption.check()
        raise InfrastructureError(_WHERE, "it ended before its time", "Run it again")
    return measured


def measure_replication(
    work: Underway, serving: Serving, visit: Visit, name: str, position: int
) -> Pointer:
    """One replication, kept in the run directory; discarded with its reason where it failed."""
    point, cell, who = (
        work.point(visit.candidate, name),
        work.cell(visit, name),
        _who(visit, name),
    )
    voids = 0
    while True:
        attempt = _attempt(work, serving, visit, name)
        measured = attempt.measured
        why = "; ".join(_judged(work, measured).voids)
        if not why or not is_measured_again(voids):
            break
        voids += 1
        work.discard(visit, name, f"void: {why}")
        work.progress.said(f"{visit.candidate}, {name}: measured again: {why}")
    file = CellFile(
        run=work.plan.run,
        candidate=visit.candidate,
        load_point=name,
        key=cell.key,
        replication=visit.replication,
        launch=serving.launch,
        host=visit.host,
        load_host=load_host(work, visit.candidate),
        position=position,
        seed=spec_of(work, serving, visit, point).seed,
        basis=_basis(work, serving),
        started_at=attempt.began.isoformat(timespec="milliseconds"),
        ended_at=utc_now().isoformat(timespec="milliseconds"),
        asked=measured.asked,
        client_cpus=serving.load_cpus,
        server_cpus=serving.placement.server,
        attempts=work.attempts(visit, name),
        foreign=dict(measured.foreign),
        telemetry=measured.telemetry,
        clocks=_clocks(work, visit),
        files={},
    )
    work.store.keep(cell, visit.replication, attempt.partial, file)
    work.learn_cell(visit, name, measured.document, attempt.seconds)
    if measured.telemetry is not None and visit.host in work.held:
        work.held[visit.host].summaries.append(measured.telemetry)
    work.record("measured", **who, verdict=measured.document["verdict"])
    work.record_spent()
    work.cell_done()
    return _pointer(work, cell, visit.replication)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One measurement of a replication, valid or void, with the folder of its files."""

    measured: Measured
    partial: Path
    began: dt.datetime
    seconds: float


def _attempt(work: Underway, serving: Serving, visit: Visit, name: str) -> _Attempt:
    point, cell = work.point(visit.candidate, name), work.cell(visit, name)
    who = _who(visit, name)
    work.interruption.check()
    work.require_kept(visit.host)
    work.afford(f"{name} of {visit.candidate}", work.cell_s(visit.candidate, name))
    work.record("measuring", **who, launch=serving.launch)
    work.progress.state(visit.candidate, f"launch {visit.replication}, {name}")
    partial = work.store.partial(cell, visit.replication)
    began, began_s = utc_now(), time.monotonic()
    try:
        measured = measure_into(work, serving, visit, point, partial)
    except TakenBackError as error:
        work.discard(visit, name, f"interrupted: {error.seen}")
        raise
    except (InfrastructureError, UsageError) as error:
        work.discard(visit, name, error.seen)
        raise
    except Interrupted as why:
        work.discard(visit, name, f"interrupted: {why}")
        raise
    if measured.unsampled is not None:
        work.record("unsampled", **who, why=measured.unsampled)
    return _Attempt(
        measured=measured,
        partial=partial,
        began=began,
        seconds=time.monotonic() - began_s,
    )


def _who(visit: Visit, name: str) -> dict[str, Any]:
    return {
        "candidate": visit.candidate,
        "load_point": name,
        "replication": visit.replication,
    }


def _judged(work: Underway, measured: Measured) -> Judgement:
    is_told_only = work.plan.exploratory or work.plan.rehearsal
    return judged(measured.telemetry, measured.foreign, exploratory=is_told_only)


def _clocks(work: Underway, visit: Visit) -> Literal["locked", "production"] | None:
    """How the devices' clocks were; None where the machine has none that we know of."""
    held = work.held.get(visit.host)
    if held is None or not held.found.devices:
        return None
    is_locked = held.control is not None and held.control.clock_control == "locked"
    return "locked" if is_locked else "production"


def _basis(work: Underway, serving: Serving) -> Literal["measurement", "simulation"]:
    found = serving.survey
    is_simulated = found is not None and found.is_simulation
    return "simulation" if work.plan.rehearsal or is_simulated else "measurement"


def _pointer(work: Underway, cell: CellName, replication: int) -> Pointer:
    path = work.store.folder.replication(cell, replication, "cell.json")
    return Pointer(
        path=str(path.relative_to(work.store.folder.path)),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
