"""The steps on one machine of a plan, each with its time and its money."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from flows.budget import times
from flows.budget.billing import HOUR_S, MONTH_H, Billing, billing_of
from flows.budget.quality import Task, asked_of, quality_steps
from flows.budget.times import Range, added
from flows.matrix.amounts import SEARCH
from flows.matrix.points import above_a_miss, closed_point
from flows.quality.reference import is_measured
from flows.search import MOST_LEVELS
from reports.run.plan_file import CandidateFacts, EstimateItem, LoadPoint, RunPlan, Visit

CALIBRATION: Final = "calibrate"
DOLLARS_PER_HOUR: Final = "USD/h"
DOLLARS_PER_MILLION: Final = "USD/Mtok"
_LOCKABLE: Final = ("cuda", "rocm")  # devices whose clocks a driver sets
_GB: Final = 1e9
_MILLION: Final = 1e6
_DISK_GB: Final = 100.0  # system, runtime and room beside the weights
_CELL_GB: Final = Range(0.001, 0.03)  # records, telemetry and logs of one cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What no plan holds, and its estimate takes into account.

    ``calibrated`` are the hosts whose rates the campaign measures first, each with its number
    of accelerators; ``tasks`` are files of the user's own questions, counted.
    """

    calibrated: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[str, Task] = field(default_factory=dict)


NOTHING: Final = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine of the plan: its candidates, its launches, what an hour of it costs."""

    plan: RunPlan
    name: str
    candidates: tuple[CandidateFacts, ...]
    order: tuple[Visit, ...]
    usd_per_hour: float | None
    beside: Beside = NOTHING

    @property
    def kind(self) -> str:
        """``local``, ``ssh``, ``cloud`` or ``endpoint``."""
        return self.candidates[0].host_class

    @property
    def billing(self) -> Billing:
        """How its cloud bills it."""
        return billing_of(self.kind, self.candidates[0].offer)

    def item(self, what: str, time: Range, usd: Range | None = None) -> EstimateItem:
        """One step; its money is by time unless it is given."""
        if usd is None and self.usd_per_hour is not None:
            usd = time * (self.usd_per_hour / HOUR_S)
        return EstimateItem(
            what=what,
            host=self.name,
            low_s=time.low,
            high_s=time.high,
            low_usd=None if usd is None else usd.low,
            high_usd=None if usd is None else usd.high,
        )


def host_of(plan: RunPlan, name: str, beside: Beside = NOTHING) -> Host:
    """The machine of that name."""
    candidates = tuple(each for each in plan.candidates if each.measured and each.host == name)
    return Host(
        plan=plan,
        name=name,
        candidates=candidates,
        order=tuple(visit for visit in plan.order if visit.host == name),
        usd_per_hour=hourly_usd(candidates),
        beside=beside,
    )


def hourly_usd(candidates: Sequence[CandidateFacts]) -> float | None:
    """What an hour of their machine costs its renter; the dearest where they state several.

    Nothing is rented for simulated engines, nor for a service that is measured as it stands
    (it runs anyway).
    """
    real = [each for each in candidates if not is_simulated(each)]
    prices = [each.price for each in real if each.price is not None]
    if len(prices) < len(real):
        return None
    if all(each.kind == "endpoint" for each in real):
        return 0.0
    if any(each.unit != DOLLARS_PER_HOUR for each in prices):
        return None
    return max(each.value for each in prices)


def is_simulated(candidate: CandidateFacts) -> bool:
    """Whether what is launched is the simulated engine."""
    return bool((candidate.launch or {}).get("simulation"))


def until_measured(host: Host) -> list[EstimateItem]:
    """All steps until the last cell of the machine, in the order in which they come."""
    return [*_before(host), *_clocks(host), *_measured(host), *_repeated(host)]


def qualified(host: Host) -> list[EstimateItem]:
    """A launch of each candidate after all cells, and what its answers take."""
    if not is_measured(host.plan):
        return []
    found, asked = [], asked_of(host.plan, host.beside.tasks)
    for each in host.candidates:
        found.append(host.item(f"{each.name}: quality, a launch", times.start(each)))
        for step in quality_steps(host.plan, each, asked):
            paid = _paid(each, step.tokens)
            found.append(host.item(step.what, step.time, paid))
    return found


def steps(host: Host, wait: Range) -> list[EstimateItem]:
    """All steps in the order in which they come, and what the bill adds to them.

    ``wait`` is how long the machine stands idle until the quality of others is measured.
    """
    found = [*until_measured(host), *qualified(host)]
    found.append(host.item("wait until all quality is measured", wait))
    found.append(host.item("collect and release", times.release(host.kind)))
    found = [each for each in found if each.high_s > 0 or each.high_usd]
    return [*found, *_bill(host, found)]


def _before(host: Host) -> Iterator[EstimateItem]:
    yield host.item("boot", times.boot(host.kind))
    accelerators = host.beside.calibrated.get(host.name)
    if accelerators is not None:
        time = times.calibration(accelerators, is_short=host.plan.exploratory)
        yield host.item(CALIBRATION, time)
    real = [
        each for each in host.candidates if each.kind == "launch" and not is_simulated(each)
    ]
    releases = dict.fromkeys((each.runtime, each.version) for each in real)
    for runtime, version in releases:
        yield host.item(f"install {runtime} {version}", times.install(host.kind))
    fetched = {(each.checkpoint, each.precision, each.weight_bytes): each for each in real}
    for each in fetched.values():
        verb = _how_weights_come(each)
        size = f"{(each.weight_bytes or 0) / _GB:.3g} GB"
        yield host.item(f"{verb} weights, {each.precision}, {size}", times.download(each))


def _how_weights_come(candidate: CandidateFacts) -> str:
    if candidate.checkpoint == "hub":
        return "download"
    verbs = ["make"] if candidate.checkpoint == "dummy" else []
    verbs += ["copy"] if candidate.host_class in times.AWAY else []
    return " and ".join(verbs) or "find"


def _clocks(host: Host) -> Iterator[EstimateItem]:
    """A launch of each candidate under its decision load, to see which clocks hold.

    Nothing at the low end: where settings are not permitted nothing is looked at.
    """
    if host.plan.rehearsal:
        return
    for each in filter(_has_clocks, host.candidates):
        point = _decision_point(host.plan) or host.plan.matrix.load_points[0]
        yield host.item(
            f"{each.name}: a look at the clocks", Range(0.0, _once(host.plan, each, point).high)
        )


def _repeated(host: Host) -> Iterator[EstimateItem]:
    """The winner's decision cell at free clocks, in as many launches, if it is of this host."""
    point = _decision_point(host.plan)
    own = [each for each in host.candidates if _has_clocks(each)]
    if host.plan.rehearsal or point is None or not own:
        return
    most_s = max(_once(host.plan, each, point).high for each in own)
    yield host.item(
        "the winner again at production clocks, if it is here",
        Range(0.0, most_s * host.plan.matrix.replications),
    )


def _has_clocks(candidate: CandidateFacts) -> bool:
    return candidate.device_class in _LOCKABLE and not is_simulated(candidate)


def _decision_point(plan: RunPlan) -> LoadPoint | None:
    name = plan.matrix.decision_point
    return None if name is None else plan.load_point(name)


def _once(plan: RunPlan, candidate: CandidateFacts, point: LoadPoint) -> Range:
    """One launch with one cell."""
    cell = times.warm_up(plan, candidate, point) + times.cell(plan, candidate, point)
    return times.start(candidate) + cell


def _measured(host: Host) -> Iterator[EstimateItem]:
    plan = host.plan
    for each in host.candidates:
        order = [visit for visit in host.order if visit.candidate == each.name]
        launches = times.start(each) * len(order)
        warm_up = _over(plan, order, partial(times.warm_up, plan, each))
        cells = _over(plan, order, partial(times.cell, plan, each))
        count = sum(len(visit.load_points) for visit in order)
        guess = ", a guess: no bound, no limit" if times.is_guessed(plan, each) else ""
        yield host.item(f"{each.name}: {len(order)} launches", launches)
        yield host.item(f"{each.name}: warm-up", warm_up, _by_tokens(plan, each, count, 0.0))
        yield host.item(
            f"{each.name}: {count} cells{guess}",
            cells,
            _by_tokens(plan, each, count, plan.matrix.requests),
        )
        if plan.matrix.search_rates:
            yield host.item(f"{each.name}: rate search and its proof", _search(plan, each))


def _over(
    plan: RunPlan, order: Sequence[Visit], time_of: Callable[[LoadPoint], Range]
) -> Range:
    """All cells of the launches.

    At the low end a level above the contract's load is a proven miss after the first launch
    and is skipped from then on.
    """
    matrix = plan.matrix
    own = matrix.decision_point
    above = above_a_miss(matrix.load_points, [own] if own else [], own)
    whole = Range()
    for number, visit in enumerate(order):
        for name in visit.load_points:
            time = time_of(plan.load_point(name))
            whole += Range(0.0 if number and name in above else time.low, time.high)
    return whole


def _by_tokens(
    plan: RunPlan, candidate: CandidateFacts, cells: int, requests: float
) -> Range | None:
    """What a service that is paid by the token charges; None: it is paid by time."""
    discarded = plan.matrix.warmup_requests if not requests else 0
    tokens = cells * (requests + discarded) * times.mean_output(plan.contract)
    return _paid(candidate, Range(tokens if requests else 0.0, tokens))


def _paid(candidate: CandidateFacts, tokens: Range) -> Range | None:
    """The price of so many output tokens; None: it is paid by time."""
    price = candidate.price
    if candidate.kind != "endpoint" or price is None or price.unit != DOLLARS_PER_MILLION:
        return None
    return tokens * (price.value / _MILLION)


def _search(plan: RunPlan, candidate: CandidateFacts) -> Range:
    """A launch of its own with some levels, then both proof points in every replication."""
    level = closed_point(plan.contract.concurrency or 1)
    warm_up, one = times.warm_up(plan, candidate, level), times.cell(plan, candidate, level)
    looked_at = level.model_copy(update={"name": f"{SEARCH}{level.name}"})
    tried = times.cell(plan, candidate, looked_at)
    searched = Range(2 * (warm_up.low + tried.low), MOST_LEVELS * (warm_up.high + tried.high))
    least_s = plan.matrix.decision_duration_s or plan.matrix.duration_s or 0.0
    proof = Range(max(one.low, least_s), max(one.high, least_s))
    points = plan.matrix.replications * times.PROOF_POINTS
    return times.start(candidate) + searched + (warm_up + proof) * points


def _bill(host: Host, items: Sequence[EstimateItem]) -> Iterator[EstimateItem]:
    """Disk, traffic, and the rest of the last started unit; only a cloud's bill has them."""
    if host.kind != "cloud" or host.usd_per_hour is None:
        return
    billing = host.billing
    time = added(Range(each.low_s, each.high_s) for each in items)
    disk_gb = _DISK_GB + 2 * sum(each.weight_bytes or 0 for each in host.candidates) / _GB
    month = Range(
        *(disk_gb * hours / MONTH_H for hours in (time.low / HOUR_S, time.high / HOUR_S))
    )
    cells = sum(len(visit.load_points) for visit in host.order)
    most_s = billing.billed_s(time.high) - time.high
    # the shorter time may end just after a unit has begun: no line goes from more to less
    rest = Range(min(billing.billed_s(time.low) - time.low, most_s), most_s)
    nothing = Range()
    yield host.item(f"disk, {disk_gb:.0f} GB", nothing, _priced(month, billing.disk_usd))
    yield host.item("traffic", nothing, _priced(_CELL_GB * cells, billing.traffic_usd))
    if rest.high > 0:
        yield host.item(
            "the rest of the last billed unit", nothing, rest * (host.usd_per_hour / HOUR_S)
        )


def _priced(amount: Range, usd: tuple[float, float]) -> Range:
    return Range(amount.low * usd[0], amount.high * usd[1])
