"""The summary of a whole run, read replication by replication."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from catalog.quantity import Basis
from reports.gathered import Gathered, Replication
from reports.run.layout import CellName
from reports.run.number import Number
from reports.run.plan_file import LoadPoint, RunPlan
from reports.run.read import Run
from reports.run.summary_file import CandidateSummary, CellSummary, Summary
from reports.summary.cell import cell_summary
from reports.summary.launch_measure import launch_measure
from reports.summary.launches import first_token, launch_summaries

_ENDINGS = ("budget-stop", "interrupted")


def summary_of(run: Run, files: Gathered) -> Summary:
    """Return what was measured, by the plan and the limits that the files hold.

    One replication's records are in memory at a time.
    """
    plan = files.plan
    spent = files.events("spent")
    return Summary(
        method_version=plan.method_version,
        campaign=plan.campaign,
        run=plan.run,
        rehearsal=plan.rehearsal,
        imported=plan.imported is not None,
        candidates=tuple(
            _candidate(run, files, facts.name) for facts in plan.candidates if facts.measured
        ),
        spent_usd=_spent(spent[-1].get("usd"), plan) if spent else None,
        machine_seconds=spent[-1].get("seconds") if spent else None,
        interrupted=_interrupted(files),
    )


def _candidate(run: Run, files: Gathered, name: str) -> CandidateSummary:
    launches = launch_summaries(files, name)
    basis = Basis.SIMULATION if files.plan.rehearsal else Basis.MEASUREMENT
    return CandidateSummary(
        name=name,
        cells=tuple(_cells(run, files, name)),
        launches=launches,
        first_token_s=first_token(files, name, launches, basis),
        quality=dict(files.quality[name]) if name in files.quality else None,
    )


def _cells(run: Run, files: Gathered, candidate: str) -> Iterator[CellSummary]:
    plan = files.plan
    facts = plan.candidate(candidate)
    levels = sum(not point.is_open for point in plan.matrix.load_points) or 1
    for name, replications in groupby(files.of(candidate), key=_name):
        yield cell_summary(
            name,
            [launch_measure(each, facts) for each in replications],
            facts=facts,
            contract=plan.contract,
            point=_point(run, candidate, name.load_point),
            levels=levels,
        )


def _name(replication: Replication) -> CellName:
    return replication.measured.name


def _point(run: Run, candidate: str, load_point: str) -> LoadPoint | None:
    try:
        return run.load_point(candidate, load_point)
    except KeyError:
        return None


def _spent(amount: float | None, plan: RunPlan) -> Number | None:
    if amount is None:
        return None
    currencies = {
        each.price.unit.partition("/")[0] for each in plan.candidates if each.price is not None
    }
    return Number(
        value=amount,
        unit=next(iter(currencies)) if len(currencies) == 1 else "USD",
        basis=Basis.MEASUREMENT,
        note="machine time at the plan's prices",
    )


def _interrupted(files: Gathered) -> str | None:
    """Why the run ended early; None where it was taken up again, or ended by itself."""
    why = None
    for line in files.ledger:
        if line.get("event") in _ENDINGS:
            why = str(line.get("why") or line["event"])
        elif line.get("event") == "resumed":
            why = None
    return why
