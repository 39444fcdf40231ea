"""How much of a cell is measured: requests, seconds, and what a decision needs."""

from __future__ import annotations

import math
from typing import Final

from catalog.errors import CatalogError
from catalog.schema import Campaign
from flows.matrix.points import decision_point, load_points
from reports.run.plan_file import ContractFacts, LoadPoint, MatrixFacts, RunPlan

DECISION_REQUESTS: Final = 200
DECISION_S: Final = 600.0
LEAST_REPLICATIONS: Final = 3
SEARCH: Final = "search-"  # load points of a rate search, which prove nothing
_S_PER_H: Final = 3600.0
_ERROR: Final = 0.05  # of a limit's confidence
_MOST_SHARE: Final = 0.99  # no search is made longer for more
_OVERLOAD_SEEN: Final = 60.0  # TTFT limits: 1 / 5%, and three times as long to be sure
_SIGMAS: Final = 4.0  # of a Poisson count, by which it may fall behind its mean


def matrix_facts(campaign: Campaign) -> MatrixFacts:
    """The campaign's matrix as it is measured.

    Raises
    ------
    CatalogError
        If a campaign that is not exploratory asks for less than a decision needs.
    """
    check_amounts(campaign)
    return stated_matrix(campaign)


def stated_matrix(campaign: Campaign) -> MatrixFacts:
    """The campaign's matrix, be it enough for a decision or not."""
    matrix, points = campaign.matrix, load_points(campaign)
    stated_s = None if matrix.duration is None else matrix.duration.value
    return MatrixFacts(
        load_points=points,
        decision_point=decision_point(campaign, points),
        requests=matrix.requests,
        duration_s=stated_s,
        decision_duration_s=None if campaign.exploratory else max(stated_s or 0.0, DECISION_S),
        warmup=matrix.warmup,
        warmup_requests=matrix.warmup_requests,
        replications=matrix.replications,
        seed=matrix.seed,
        search_rates=matrix.rates == "search",
    )


def check_amounts(campaign: Campaign) -> None:
    """Refuse a file that asks for less than a decision needs and does not say so."""
    matrix = campaign.matrix
    if campaign.exploratory:
        return
    few = "or state exploratory: true, which stamps the result EXPLORATORY"
    if matrix.requests < DECISION_REQUESTS:
        raise CatalogError(
            "matrix.requests",
            f"{matrix.requests} timed requests a cell decide nothing",
            f"Ask for {DECISION_REQUESTS} at least, {few}",
        )
    if matrix.replications < LEAST_REPLICATIONS:
        raise CatalogError(
            "matrix.replications",
            f"{matrix.replications} cannot show how much launches differ",
            f"Ask for {LEAST_REPLICATIONS} at least, {few}",
        )
    if matrix.duration is not None and matrix.duration.value < DECISION_S:
        raise CatalogError(
            "matrix.duration",
            f"{matrix.duration.value:g} s is too short for the cell that decides",
            f"Leave it out ({DECISION_S:g} s for that cell alone), {few}",
        )


def duration_s(plan: RunPlan, point: LoadPoint) -> float | None:
    """Least length of a cell in s; None: it ends with its requests.

    A cell by time is long enough for the requests as well: of an open one by its rate, of a
    closed one by the time that requests within the contract's limits take, or that its goal
    leaves them (a slower server that gets fewer done misses the contract anyway).
    """
    matrix = plan.matrix
    least_s = matrix.duration_s
    if decides(plan, point) and matrix.decision_duration_s is not None:
        least_s = max(least_s or 0.0, matrix.decision_duration_s)
    if least_s is None:
        return None
    return max(least_s, _requests_s(plan, point))


def decides(plan: RunPlan, point: LoadPoint) -> bool:
    """Whether a decision rests on cells of this load.

    It does on the contract's own, on every level of an offline contract, on those that prove
    what a search has found, and on every rate where a demand is to be met: the highest that
    holds sizes the fleet.
    """
    matrix = plan.matrix
    if point.name.startswith(SEARCH):
        return False
    if point not in matrix.load_points:
        return True
    if point.is_open and plan.contract.demand is not None:
        return True
    if matrix.decision_point is None:
        return not point.is_open
    return point.name == matrix.decision_point


def least_requests(plan: RunPlan, point: LoadPoint) -> int:
    """Timed requests that a cell holds at least, if its server keeps the contract's limits."""
    requests, least_s = plan.matrix.requests, duration_s(plan, point)
    if least_s is None:
        return requests
    if point.rate_per_s is not None:
        mean = point.rate_per_s * least_s
        return max(requests, math.floor(mean - _SIGMAS * math.sqrt(mean)))
    within_s = _within_limits_s(plan.contract)
    streams = point.concurrency or 1
    return requests if within_s is None else max(requests, int(streams * least_s / within_s))


def timed_requests(plan: RunPlan, point: LoadPoint) -> int:
    """Timed requests of a cell that ends with them.

    A searched level has twice as many as a limit of the contract's percentile takes: with
    fewer no level could ever hold, and the search would go down for nothing. Unless the
    campaign is exploratory it also lasts until an overload of 5% makes requests wait beyond
    the TTFT limit: a shorter one would hold where the cell that decides does not.
    """
    requests, slo = plan.matrix.requests, plan.contract.slo
    if not point.name.startswith(SEARCH):
        return requests
    share = max(slo.percentile / 100, min(slo.goodput or 0.0, _MOST_SHARE))
    least = max(requests, 2 * math.ceil(math.log(_ERROR) / math.log(share)))
    if plan.matrix.decision_duration_s is None:
        return least
    seen_s = _OVERLOAD_SEEN * (slo.ttft_ms or 0.0) / 1e3
    return max(least, math.ceil(seen_s * (point.rate_per_s or 0.0)))


def goal_rate_per_s(contract: ContractFacts) -> float | None:
    """Requests per second that an offline contract's goal needs; None for other contracts."""
    goal = contract.offline
    if goal is None:
        return None
    if goal.requests_per_hour is not None:
        return goal.requests_per_hour / _S_PER_H
    if goal.requests is not None and goal.deadline_s is not None:
        return goal.requests / goal.deadline_s
    if goal.tokens_per_hour is not None and contract.mean_output_tokens:
        return goal.tokens_per_hour / _S_PER_H / contract.mean_output_tokens
    return None


def _requests_s(plan: RunPlan, point: LoadPoint) -> float:
    """Seconds after which the cell's requests are there; 0 where nothing says so."""
    requests, goal_per_s = plan.matrix.requests, goal_rate_per_s(plan.contract)
    if point.rate_per_s is not None:
        return (requests + _SIGMAS * math.sqrt(requests)) / point.rate_per_s
    if goal_per_s is not None:
        return requests / goal_per_s
    return requests * (_within_limits_s(plan.contract) or 0.0) / (point.concurrency or 1)


def _within_limits_s(contract: ContractFacts) -> float | None:
    """The longest that a request within the contract's limits takes; None: none are stated."""
    slo = contract.slo
    if slo.ttft_ms is None or slo.itl_ms is None:
        return None
    return (slo.ttft_ms + slo.itl_ms * (contract.longest_output_tokens or 0)) / 1e3
