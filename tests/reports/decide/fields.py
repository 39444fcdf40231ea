"""Fields of candidates as values: what a campaign would have summarised, without requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catalog.quantity import Basis
from reports.decide import decide
from reports.run.checks_file import Checks
from reports.run.number import Number
from reports.run.plan_file import (
    CandidateFacts,
    ContractFacts,
    LoadPoint,
    MatrixFacts,
    PriceFacts,
    RunPlan,
)
from reports.run.summary_file import (
    CandidateSummary,
    CellSummary,
    ClauseSummary,
    LaunchSummary,
    ReplicationSummary,
    Summary,
)
from reports.stats.replications import replicated
from reports.telemetry.production import production_point
from tests.reports.run.builder import CLOSED, CONTRACT, NOW

POINT = CLOSED[4]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """An open cell: what it held, and the compliant tokens per second of each launch."""

    per_s: float
    verdict: str = "holds"
    tokens: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A candidate: its compliant tokens per second by launch, price and verdicts.

    ``locked``: its clocks were; ``production`` are the tokens of the repetition at free ones.
    """

    name: str
    tokens: Sequence[float | None] = (1000.0, 1010.0, 990.0)
    price: float | PriceFacts | None = 3.6
    verdict: str = "holds"
    cell: str = "valid"
    devices: int = 1
    host: str = "one"
    rates: Sequence[Rate] = ()
    failed: Sequence[int] = ()
    quality: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    measured: bool = True
    locked: bool = False
    production: Sequence[float | None] = ()
    production_cell: str = "valid"


def decided(runners, *, checks=(), contract: ContractFacts = CONTRACT, **plan):
    """The decision over these candidates."""
    whole = plan_of(runners, contract, **plan)
    return decide(whole, summary_of(whole, runners), Checks(checks=tuple(checks)), NOW)


def plan_of(runners, contract: ContractFacts = CONTRACT, **changes) -> RunPlan:
    values: dict[str, Any] = {
        "runoff_version": "0.1.0",
        "campaign": "fields",
        "run": "r",
        "created_at": NOW.isoformat(),
        "campaign_sha256": "0" * 64,
        "catalog_digest": "0" * 64,
        "contract": contract,
        "matrix": MatrixFacts(
            load_points=(POINT,),
            decision_point=POINT.name,
            requests=200,
            warmup="fixed",
            warmup_requests=20,
            replications=3,
            seed=1,
        ),
        "candidates": tuple(facts_of(each) for each in runners),
        "order": (),
    }
    return RunPlan(**{**values, **changes})


def facts_of(each: Runner) -> CandidateFacts:
    price = each.price
    if isinstance(price, float | int):
        price = PriceFacts(value=price, unit="USD/h", basis=Basis.ASSUMPTION, stated=True)
    values = {
        "name": each.name,
        "kind": "launch",
        "host": each.host,
        "host_class": "ssh",
        "device_count": each.devices,
        "price": price,
        "measured": each.measured,
        "verdict": "pass" if each.measured else "reject",
        "skipped": None if each.measured else "p95 ITL: a bound says no",
    }
    return CandidateFacts(**{**values, **each.facts})


def summary_of(plan: RunPlan, runners) -> Summary:
    return Summary(
        method_version=1,
        campaign=plan.campaign,
        run=plan.run,
        rehearsal=plan.rehearsal,
        candidates=tuple(_candidate(plan, each) for each in runners if each.measured),
    )


def _candidate(plan: RunPlan, each: Runner) -> CandidateSummary:
    facts = plan.candidate(each.name)
    cells = [_cell(facts, each, POINT, each.verdict, each.tokens)] if each.tokens else []
    if each.production:
        again = production_point(POINT)
        cells.append(_cell(facts, each, again, "misses", each.production, is_again=True))
    for rate in each.rates:
        point = LoadPoint(
            name=f"poisson-{rate.per_s:g}", process="poisson", rate_per_s=rate.per_s
        )
        cells.append(_cell(facts, each, point, rate.verdict, rate.tokens or each.tokens))
    numbers = sorted({*range(len(each.tokens)), *each.failed})
    return CandidateSummary(
        name=each.name,
        cells=tuple(cells),
        launches=tuple(
            LaunchSummary(
                replication=number, state="failed" if number in each.failed else "ready"
            )
            for number in numbers
        ),
        quality=None if each.quality is None else {"verdict": each.quality},
    )


def _cell(
    facts, each: Runner, point: LoadPoint, verdict: str, tokens, *, is_again=False
) -> CellSummary:
    is_locked = each.locked and not is_again
    telemetry = {"devices": {"0": {"target_mhz": 1410 if is_locked else None}}}
    state = each.production_cell if is_again else each.cell
    figures = [_figures(facts, value) for value in tokens]
    return CellSummary(
        load_point=point.name,
        point=point,
        key="0" * 8,
        basis=Basis.MEASUREMENT,
        verdict=state,
        problems=(),
        requests={},
        replications=tuple(
            ReplicationSummary(
                replication=number,
                launch=f"{each.name}-{number}",
                host=each.host,
                verdict=each.cell,
                problems=(),
                records="",
                figures=found,
                document={},
                telemetry=telemetry,
            )
            for number, found in enumerate(figures)
        ),
        measures={
            name: Number(
                value=replicated([found[name] for found in figures]).median,
                unit="1",
                basis=Basis.MEASUREMENT,
            )
            for name in figures[0]
        },
        clauses={
            "ttft": _clause("ttft", 1000.0, "holds", "ms"),
            "itl": _clause("itl", 25.0, "holds", "ms"),
            "goodput": _clause("goodput", 0.95, verdict, "1"),
        },
        goodput={},
    )


def _figures(facts: CandidateFacts, tokens: float | None) -> dict[str, float | None]:
    found: dict[str, float | None] = {
        "compliant_tokens_per_s": tokens,
        "output_tokens_per_s": tokens,
        "compliant_tok_per_machine_hour": None if tokens is None else tokens * 3600,
        "ttft_p95_ms": 300.0,
        "tpot_p95_ms": 15.0,
    }
    if facts.price is not None:
        per_1m = facts.price.value
        if facts.price.unit.endswith("/h"):
            per_1m = None if not tokens else facts.price.value / tokens / 3600 * 1e6
        found |= {"usd_per_1m_compliant": per_1m, "usd_per_1m_output": per_1m}
    return found


def _clause(name: str, limit: float, verdict: str, unit: str) -> ClauseSummary:
    return ClauseSummary(
        name=name,
        statistic=name,
        limit=limit,
        number=Number(
            value=limit, unit=unit, basis=Basis.MEASUREMENT, low=limit * 0.9, high=limit
        ),
        verdict=verdict,
    )


def noisy(mean: float, cv: float, runs: int, rng: np.random.Generator) -> list[float]:
    """Tokens per second of launches that spread about a mean."""
    return [float(mean * np.exp(cv * z)) for z in rng.standard_normal(runs)]
