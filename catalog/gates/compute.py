"""Gate 3, compute: the prompt's arithmetic must end before the first token is due."""

from __future__ import annotations

from functools import partial

from catalog.case import Case
from catalog.gates._answers import bound, doubt_detail, milliseconds
from catalog.gates._times import (
    BY_MEASUREMENT,
    Times,
    missing_detail,
    missing_rates,
    side_doubts,
    worded,
)
from catalog.measured import at_measured
from catalog.placement import Placement
from catalog.quantity import Basis, Quantity
from catalog.roofline import (
    Roof,
    assumed_prefill,
    assumed_request_compute,
    bound_prefill,
    bound_request,
)
from catalog.rules import hardware_rule
from catalog.verdict import Figures, GateResult, Input, Status

ORDER = 3
NAME = "compute"
READS = "ranks"
_FORMULA = "max(prefill FLOPs / peak FLOP/s, (W_read − on-chip caches) / peak bandwidth)"
_OFFLINE_FORMULA = "(prefill FLOPs + O · FLOPs per token) / peak FLOP/s"
_OFFLINE_WORKING = (
    "bound: {work} / {peak_compute} gives {bound} per request, limit {limit}; "
    "assumption: {assumed_work} / {achieved_compute} gives {assumption}"
)
_WORKING = (
    "bound: max({work} / {peak_compute}, ({weights_read:GB} − {on_chip_cache:MB}) / "
    "{peak_bandwidth}) gives {bound}, limit {limit}; assumption: max({assumed_work} / "
    "{achieved_compute}, {weights_read:GB} / {achieved_bandwidth}) gives {assumption}"
)
_BECAUSE = {
    Status.PASS: "{bound} at the peak rates, {assumption} by assumption; {limit} are allowed",
    Status.UNLIKELY: "{assumption} at the assumed {achieved_compute} exceed {limit}",
    Status.REJECT: "{bound} even at the peak of {peak_compute}; {limit} are allowed",
    Status.UNKNOWN: "unknown: {missing}",
    Status.NOT_APPLICABLE: "the contract limits no time to the first token",
}
_UNLIKELY_BY_MEMORY = "{assumption} at the assumed {achieved_bandwidth} exceed {limit}"
_BY_MEMORY = "{bound} even at the peak of {peak_bandwidth}; {limit} are allowed"
_DOUBTED = "{bound} exceed {limit}, but this rests on what is not verified: {doubt}"


def judge(case: Case) -> GateResult:
    """Whether the prompt, or an offline request, can be computed in time."""
    place = case.placement
    offline = place.terms.kind == "offline"
    times = _offline(place) if offline else _first_token(place)
    doubts = _doubts(place, times) if times.is_violated else ()
    status, margin = times.judged(doubts)
    return GateResult(
        gate=NAME,
        status=status,
        clause=_clause(place),
        bound=times.bound,
        assumption=times.assumption,
        limit=times.limit,
        margin=margin,
        formula=_OFFLINE_FORMULA if offline else _FORMULA,
        because=worded(_because(status, times, doubts), place),
        working=_OFFLINE_WORKING if offline else _WORKING,
        rule=hardware_rule(place),
        figured=partial(_figures, place, doubts),
    )


def _because(status: Status, times: Times, doubts: tuple[str, ...]) -> str:
    if doubts:
        return _DOUBTED
    if status is Status.PASS and times.missing:
        return BY_MEASUREMENT
    if status is Status.REJECT and not _by_arithmetic(times):
        return _BY_MEMORY
    if status is Status.UNLIKELY and not times.assumed.is_compute_bound:
        return _UNLIKELY_BY_MEMORY
    return _BECAUSE[status]


def _by_arithmetic(times: Times) -> bool:
    compute_s = times.roof.compute_s
    return compute_s is not None and compute_s > (times.limit_s or 0.0)


def _figures(place: Placement, doubts: tuple[str, ...]) -> Figures:
    return Figures(
        inputs=_inputs(place),
        details=missing_detail(place) | doubt_detail(doubts),
        lesson=_lesson(place),
    )


def _first_token(place: Placement) -> Times:
    ttft, known = place.terms.ttft, at_measured(place)
    return Times(
        roof=bound_prefill(place),
        assumed=assumed_prefill(place),
        limit_s=ttft.value if ttft is not None else None,
        missing=missing_rates(place),
        longest=None if known is None else bound_prefill(known),
    )


def _offline(place: Placement) -> Times:
    rate = place.terms.rate_per_s
    missing = () if place.peak is not None else missing_rates(place)[-1:]
    known = at_measured(place)
    return Times(
        roof=Roof(memory_s=0.0, compute_s=bound_request(place).compute_s),
        assumed=Roof(memory_s=None, compute_s=assumed_request_compute(place)),
        limit_s=place.engines / rate if rate else None,
        missing=missing,
        longest=None
        if known is None
        else Roof(memory_s=0.0, compute_s=bound_request(known).compute_s),
    )


def _clause(place: Placement) -> str:
    terms = place.terms
    if terms.kind == "offline":
        return f"{(terms.rate_per_s or 0.0) * 3600:,.0f} requests per hour"
    if terms.ttft is None:
        return "no TTFT limit"
    return f"p{terms.percentile:g} TTFT ≤ {milliseconds(terms.ttft.value)}"


def _doubts(place: Placement, times: Times) -> tuple[str, ...]:
    """Unverified facts of the side that exceeds the limit."""
    return side_doubts(place, memory=not _by_arithmetic(times))


def _inputs(place: Placement) -> tuple[Input, ...]:
    work, offline = place.arithmetic.work, place.terms.kind == "offline"
    answer = place.terms.mean_output * work.token if offline else 0.0
    least = work.mean_prefill if offline else work.prefill
    likely = work.assumed_mean_prefill if offline else work.assumed_prefill
    named = {
        "work": bound((least + answer) / place.k, "FLOP"),
        "peak_compute": place.peak,
        "weights_read": bound(place.sums.weights_read, "B"),
        "peak_bandwidth": place.device.memory_bandwidth,
        "assumed_work": Quantity(
            value=(likely + answer) / place.k, unit="FLOP", basis=Basis.ASSUMPTION
        ),
        "achieved_compute": place.achieved_compute,
    }
    if not offline:
        named |= {
            "on_chip_cache": place.device.on_chip_cache,
            "achieved_bandwidth": place.achieved_bandwidth,
        }
    return tuple(Input(name=name, quantity=q) for name, q in named.items() if q is not None)


def _lesson(place: Placement) -> dict[str, Quantity]:
    flops = place.arithmetic.work.lesson_prefill
    figures = {"prefill": (flops, "FLOP")}
    if place.achieved_compute is not None:
        rate = place.achieved_compute.value * place.k
        figures["t_prefill"] = (flops / rate * 1e3, "ms")
    return {
        name: Quantity(value=value, unit=unit, basis=Basis.ASSUMPTION, source="lesson")
        for name, (value, unit) in figures.items()
    }
