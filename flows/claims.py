"""What a plan's runs and requests can prove, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flows.matrix import least_requests
from reports.run.plan_file import RunPlan

_CV: Final = 0.02  # of a metric between launches of one candidate, where nothing is known yet
_WORTH_KNOWING: Final = 0.05
_TAIL: Final = 99.0


def claims(plan: RunPlan) -> Iterator[str]:
    """One sentence for each kind of claim that a decision makes."""
    # a second of imports that only those who read a plan wait for
    from reports.stats.compare import ACROSS_MACHINES, SAME_MACHINE  # noqa: PLC0415
    from reports.stats.power import (  # noqa: PLC0415
        fewest_hits,
        requests_for_percentile,
        runs_needed,
        smallest_difference,
    )

    requests, runs = _requests(plan), plan.matrix.replications
    for percentile in dict.fromkeys((plan.contract.slo.percentile, _TAIL)):
        needed = requests_for_percentile(percentile)
        short = "" if requests >= needed else ": there will be no upper limit"
        yield (
            f"p{percentile:g}: an upper limit takes {needed} requests of a launch, "
            f"{requests:,} are planned{short}"
        )
    goodput = plan.contract.slo.goodput
    if goodput is not None:
        yield _goodput(requests, goodput, fewest_hits(requests, goodput))
    same = smallest_difference(_CV, runs, margin=SAME_MACHINE)
    apart = smallest_difference(_CV, runs, margin=ACROSS_MACHINES)
    if same is None or apart is None:
        yield "better or worse: one launch each can show no difference"
        return
    yield (
        f"better or worse: {runs} launches each can show {same:.1%} on one machine and "
        f"{apart:.1%} across machines, where launches vary by {_CV:.0%}"
    )
    more = runs_needed(_WORTH_KNOWING, _CV)
    if more is not None and more > runs:
        yield (
            f"a difference of {_WORTH_KNOWING:.0%} on one machine would take {more} launches "
            "to be called four times in five"
        )


def _requests(plan: RunPlan) -> int:
    """Timed requests of one launch at the load that decides."""
    own = plan.matrix.decision_point
    if own is None:
        return plan.matrix.requests
    return least_requests(plan, plan.load_point(own))


def _goodput(requests: int, share: float, hits: int | None) -> str:
    if hits is None:
        return f"goodput of {share:.1%}: {requests} requests cannot prove it, whatever happens"
    return (
        f"goodput of {share:.1%}: of {requests:,} independent requests {hits:,} must comply; "
        "near capacity they come good and bad together, and more is needed"
    )
