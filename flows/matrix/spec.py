"""From a plan's cell to what the load generator is told. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.schema import Contract
from flows.bench.endpoint import dialect_of
from flows.bench.spec import Amount, CellSpec, Content, Load, SharedPrefix, Slo, Target
from flows.load.plan import Endpoint
from flows.matrix.amounts import duration_s, timed_requests
from flows.matrix.identity import cell_name, cell_seed
from reports.run.plan_file import CandidateFacts, ContractFacts, LoadPoint, RunPlan


def cell_spec(
    plan: RunPlan,
    contract: Contract,
    candidate: CandidateFacts,
    point: LoadPoint,
    replication: int,
    *,
    endpoints: Sequence[Endpoint],
    served_model: str,
    launch: str | None = None,
) -> CellSpec:
    """One replication of one cell.

    ``contract`` is the campaign's, which holds the lengths of a ``file:`` that a plan only
    names; ``endpoints`` carry their headers and share the load.
    """
    load = _load(point)
    return CellSpec(
        run=plan.run,
        cell=cell_name(plan, candidate, point).folder,
        target=Target(
            endpoints=tuple(endpoints),
            dialect=dialect_of(endpoints[0].url),
            model=served_model,
        ),
        load=load,
        content=_content(contract),
        amount=_amount(plan, load, point),
        slo=_slo(plan.contract),
        replication=replication,
        launch=launch,
        seed=cell_seed(plan, point, replication),
        temperature=plan.matrix.temperature,
        timeout_s=plan.matrix.timeout_s,
    )


def _load(point: LoadPoint) -> Load:
    return Load(
        process=point.process,
        rate_per_s=point.rate_per_s,
        concurrency=point.max_in_flight if point.is_open else point.concurrency,
    )


def _content(contract: Contract) -> Content:
    shared = contract.cached_prefix_tokens
    return Content(
        prompt=contract.prompt_tokens,
        output=contract.output_tokens,
        forced=contract.output == "forced",
        shared=SharedPrefix(tokens=shared) if shared else None,
    )


def _amount(plan: RunPlan, load: Load, point: LoadPoint) -> Amount:
    """By time where a least length is asked, else the timed requests and the warm-up's."""
    matrix, seconds = plan.matrix, duration_s(plan, point)
    by_time = Amount(
        requests=None,
        duration_s=seconds,
        warmup=matrix.warmup,
        warmup_requests=matrix.warmup_requests,
    )
    if seconds is not None:
        return by_time
    return Amount(
        requests=timed_requests(plan, point) + by_time.discarded(load),
        duration_s=None,
        warmup=matrix.warmup,
        warmup_requests=matrix.warmup_requests,
    )


def _slo(contract: ContractFacts) -> Slo:
    slo = contract.slo
    return Slo(
        ttft_ms=slo.ttft_ms,
        itl_ms=slo.itl_ms,
        itl_statistic=slo.itl_statistic,
        goodput=slo.goodput,
    )
