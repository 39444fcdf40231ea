"""One cell over its launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.quantity import Basis
from reports.cell import Concern
from reports.run.layout import CellName
from reports.run.plan_file import CandidateFacts, ContractFacts, LoadPoint
from reports.run.summary_file import (
    CellSummary,
    CellVerdict,
    ClauseSummary,
    ReplicationSummary,
)
from reports.summary.clauses import ClauseMaker
from reports.summary.launch_measure import LaunchMeasure
from reports.summary.money import money_of, price_note
from reports.summary.numbers import finite, over_launches, unit_of

_WORST_FIRST: Final[tuple[CellVerdict, ...]] = (
    "client-bound",
    "invalid",
    "cap-bound",
    "not-steady",
    "valid",
)


def cell_summary(
    name: CellName,
    launches: Sequence[LaunchMeasure],
    *,
    facts: CandidateFacts,
    contract: ContractFacts,
    point: LoadPoint | None,
    levels: int,
) -> CellSummary:
    """Return a cell over its launches; ``levels`` closed loads share an offline claim."""
    basis = _basis(launches)
    problems = [problem for launch in launches for problem in launch.summary.problems]
    maker = ClauseMaker(
        launches=launches, slo=launches[0].replication.measured.file.asked.slo, basis=basis
    )
    goodput = maker.goodput()
    verdicts = [_verdict(launch) for launch in launches]
    return CellSummary(
        load_point=name.load_point,
        point=point,
        key=name.key,
        basis=basis,
        verdict=min(verdicts, key=_WORST_FIRST.index),
        problems=tuple(dict.fromkeys(problem.concern.value for problem in problems)),
        requests=_requests(launches),
        replications=tuple(_replication(launch) for launch in launches),
        measures={
            measure: over_launches(
                [launch.figures[measure] for launch in launches],
                name=measure,
                unit=unit_of(measure, money_of(facts).currency),
                basis=basis,
                requests=maker.requests,
                note=price_note(facts) if measure.startswith("usd_per_1m") else None,
            )
            for measure in launches[0].figures
        },
        clauses=_clauses(maker, goodput, contract, levels),
        goodput=goodput,
        lockstep=any(problem.concern is Concern.LOCKSTEP for problem in problems),
    )


def _basis(launches: Sequence[LaunchMeasure]) -> Basis:
    """Simulation where a replication or the client's own account of it says so."""
    is_simulated = any(
        "simulation" in (each.measured.file.basis, each.account.get("basis"))
        for each in (launch.replication for launch in launches)
    )
    return Basis.SIMULATION if is_simulated else Basis.MEASUREMENT


def _verdict(launch: LaunchMeasure) -> CellVerdict:
    verdict: CellVerdict = launch.summary.verdict.value
    return verdict


def _clauses(
    maker: ClauseMaker,
    goodput: Mapping[str, ClauseSummary],
    contract: ContractFacts,
    levels: int,
) -> dict[str, ClauseSummary]:
    found = {
        "ttft": maker.ttft(),
        "itl": maker.itl(),
        "goodput": goodput[maker.slo.itl_statistic],
    }
    if contract.offline is not None:
        found["throughput"] = maker.throughput(contract.offline, levels)
    return found


def _requests(launches: Sequence[LaunchMeasure]) -> dict[str, int]:
    return {
        name: sum(launch.summary.counts[name] for launch in launches)
        for name in launches[0].summary.counts
    }


def _replication(launch: LaunchMeasure) -> ReplicationSummary:
    measured = launch.replication.measured
    summary = launch.summary
    return ReplicationSummary(
        replication=measured.file.replication,
        launch=measured.file.launch,
        host=measured.file.host,
        verdict=_verdict(launch),
        problems=tuple(dict.fromkeys(found.concern.value for found in summary.problems)),
        records=f"cells/{measured.name.folder}/{measured.records.name}",
        figures={name: finite(value) for name, value in launch.figures.items()},
        document=dict(launch.document),
        telemetry=measured.file.telemetry,
    )
