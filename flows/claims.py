"""What a plan's runs and requests can prove, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flows.matrix import least_requests
from reports.run.plan_file import RunPlan

_CV: Final = 0.02  # of a metric between launches of one candidate, where nothing is known yet
_WORTH_KNOWING: Final = 0.05


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

    runs = plan.matrix.replications
    requests = deciding_requests(plan) * runs
    if runs == 1:
        yield "one launch is no evidence of what the next one shows: no clause can be proven"
    else:
        percentile, goodput = plan.contract.slo.percentile, plan.contract.slo.goodput
        needed = requests_for_percentile(percentile)
        short = "" if requests >= needed else ": there will be no upper limit"
        yield (
            f"p{percentile:g}: an upper limit takes {needed} requests over all launches, "
            f"{requests:,} are planned{short}"
        )
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


def operating(plan: RunPlan) -> tuple[str, list[tuple[str, ...]]] | None:
    """How often the goodput claim ends in each verdict, by true goodput: a title and rows.

    The first row is a head. None where the contract claims no 95%, which is what was
    simulated, or the plan is smaller than any that was.
    """
    from reports.stats.operating import (  # noqa: PLC0415 - as above
        operating_characteristic,
        operating_rows,
    )

    stored = operating_characteristic()
    points = stored.of_plan(deciding_requests(plan), plan.matrix.replications)
    if not points or plan.contract.slo.goodput != stored.target:
        return None
    title = (
        f"The goodput verdict, by true goodput: % of {stored.campaigns:,} simulated campaigns "
        "that end in holds / misses"
    )
    return title, operating_rows(points)


def deciding_requests(plan: RunPlan) -> int:
    """Timed requests of one launch at the load that decides."""
    own = plan.matrix.decision_point
    if own is None:
        return plan.matrix.requests
    return least_requests(plan, plan.load_point(own))


def _goodput(requests: int, share: float, hits: int | None) -> str:
    if hits is None:
        return f"goodput of {share:.1%}: {requests:,} requests cannot prove it at all"
    return (
        f"goodput of {share:.1%}: of {requests:,} independent requests over all launches "
        f"{hits:,} must comply; "
        "near capacity they come good and bad together, and more is needed"
    )
