"""Gate 2, memory bandwidth: a decode step moves weights and cache, and that takes time."""

from __future__ import annotations

import math
from functools import partial

from catalog.case import Case
from catalog.gates._answers import (
    assumed,
    bound,
    doubt_detail,
    milliseconds,
    stated,
    unverified,
)
from catalog.gates._times import (
    BY_MEASUREMENT,
    Times,
    common_doubts,
    missing_detail,
    missing_rates,
    worded,
)
from catalog.measured import at_measured
from catalog.placement import CACHE_DOUBT_FACTOR, Placement
from catalog.quantity import Basis, Quantity, significant
from catalog.roofline import (
    assumed_batch,
    assumed_step,
    assumed_step_bytes,
    bound_step,
    cache_bytes,
    expected_tokens_per_step,
    step_bytes,
    step_flops,
    throughput_batch,
)
from catalog.rules import hardware_rule
from catalog.verdict import Figures, GateResult, Input, Status

ORDER = 2
NAME = "bandwidth"
READS = "ranks"
_FORMULA = "max((W_read + B·KV − on-chip caches) / peak bandwidth, step FLOPs / peak FLOP/s)"
_OFFLINE = " / B"
_WORKING = (
    "{unit}, bound: max(({weights_read:GB} + {kv_moved:GB} − {on_chip_cache:MB}) / "
    "{peak_bandwidth}, {step_flops} / {peak_compute}) at B = {batch} and {tokens_per_step} per "
    "step gives {bound}, limit {limit}; assumption: max({assumed_step_bytes:GB} / "
    "{achieved_bandwidth}, {assumed_step_flops} / {achieved_compute}) at B = {assumed_batch} "
    "and {assumed_tokens} per step gives {assumption}; intensity {intensity}, ridge point "
    "{ridge_point}: {regime}"
)
_BECAUSE = {
    Status.PASS: "{bound} at the peak rates, {assumption} by assumption; {limit} are allowed",
    Status.UNLIKELY: "{assumption} at the assumed {achieved_bandwidth} exceed {limit}",
    Status.REJECT: "{bound} even at the peak of {peak_bandwidth}; {limit} are allowed",
    Status.UNKNOWN: "unknown: {missing}",
    Status.NOT_APPLICABLE: "the contract limits no time per token",
}
_NO_GAPS = "an answer of one token has no time between tokens"
_UNLIKELY_BY_ARITHMETIC = "{assumption} at the assumed {achieved_compute} exceed {limit}"
_BY_ARITHMETIC = "{bound} even at the peak of {peak_compute}; {limit} are allowed"
_DOUBTED = "{bound} exceed {limit}, but this rests on what is not verified: {doubt}"


def judge(case: Case) -> GateResult:
    """Whether a decode step, or an offline token, can keep its time."""
    place = case.placement
    offline = place.terms.kind == "offline"
    batch = throughput_batch(place) if offline else place.streams
    guess = assumed_batch(place) if offline else place.streams
    times, clause = _times(place, batch, guess), _clause(place)
    doubts = _doubts(place, times, batch) if times.is_violated else ()
    status, margin = times.judged(doubts)
    return GateResult(
        gate=NAME,
        status=status,
        clause=clause,
        bound=times.bound,
        assumption=times.assumption,
        limit=times.limit,
        margin=margin,
        formula=_FORMULA + (_OFFLINE if offline else ""),
        open_questions=_open(place),
        because=_because(place, status, times, doubts),
        working=_WORKING,
        rule=hardware_rule(place),
        figured=partial(_figures, place, batch, guess, doubts),
    )


def _open(place: Placement) -> tuple[str, ...]:
    questions = {
        "acceptance of draft tokens": place.draft_tokens > 0,
        "reading offloaded weights over the host's link": place.offload is not None,
    }
    return tuple(question for question, is_open in questions.items() if is_open)


def _because(place: Placement, status: Status, times: Times, doubts: tuple[str, ...]) -> str:
    return worded(_sentence(place, status, times, doubts), place)


def _sentence(place: Placement, status: Status, times: Times, doubts: tuple[str, ...]) -> str:
    if doubts:
        return _DOUBTED
    if status is Status.PASS and times.missing:
        return BY_MEASUREMENT
    if status is Status.NOT_APPLICABLE and place.terms.itl is not None:
        return _NO_GAPS
    if status is Status.UNLIKELY and times.assumed.is_compute_bound:
        return _UNLIKELY_BY_ARITHMETIC
    if status is Status.REJECT and not times.is_violated_by_memory:
        return _BY_ARITHMETIC
    return _BECAUSE[status]


def _figures(place: Placement, batch: int, guess: int, doubts: tuple[str, ...]) -> Figures:
    return Figures(
        inputs=_inputs(place, batch, guess),
        details=_details(place, batch)
        | {"assumed_tokens": _tokens(expected_tokens_per_step(place.draft_tokens))}
        | missing_detail(place)
        | doubt_detail(doubts),
        lesson=_lesson(place, guess),
    )


def _times(place: Placement, batch: int, guess: int) -> Times:
    terms = place.terms
    roof, likely = bound_step(place, batch), assumed_step(place, guess)
    missing, known = missing_rates(place), at_measured(place)
    longest = None if known is None else bound_step(known, batch)
    if terms.needed_tokens_per_s is None:
        itl = terms.itl if terms.longest_output > 1 else None
        limit_s = itl.value if itl is not None else None
        return Times(
            roof=roof, assumed=likely, limit_s=limit_s, missing=missing, longest=longest
        )
    return Times(
        roof=roof.per(batch),
        assumed=likely.per(guess),
        limit_s=place.engines / terms.needed_tokens_per_s,
        missing=missing,
        longest=None if longest is None else longest.per(batch),
    )


def _clause(place: Placement) -> str:
    terms = place.terms
    if terms.needed_tokens_per_s is not None:
        return f"{terms.needed_tokens_per_s * 3600:,.0f} output tokens per hour"
    if terms.itl is None:
        return "no ITL limit"
    if terms.longest_output == 1:
        return "answers of one token"
    return f"p{terms.percentile:g} ITL ≤ {milliseconds(terms.itl.value)}"


def _doubts(place: Placement, times: Times, batch: int) -> tuple[str, ...]:
    """Unverified facts without which the bound would not exceed the limit."""
    doubts, limit = common_doubts(place), times.limit_s or 0.0
    alone = times.roof.memory_alone_s
    if alone is None or not times.is_violated_by_memory:
        return doubts + unverified({"peak compute": place.peak})
    device = place.device
    doubts += unverified({"peak bandwidth": device.memory_bandwidth})
    if device.on_chip_cache is None:
        return (*doubts, "the size of the on-chip caches")
    spared = (CACHE_DOUBT_FACTOR - 1) * cache_bytes(place)
    least = step_bytes(place, batch) - cache_bytes(place)
    if alone * max(0.0, 1 - spared / least) <= limit:
        doubts += unverified({"the size of the on-chip caches": device.on_chip_cache})
    return doubts


def _inputs(place: Placement, batch: int, guess: int) -> tuple[Input, ...]:
    sums, device = place.sums, place.device
    named = {
        "weights_read": bound(sums.weights_read, "B"),
        "kv_moved": bound(sums.kv_shared_moved + batch * sums.kv_moved, "B"),
        "step_bytes": bound(step_bytes(place, batch), "B"),
        "on_chip_cache": device.on_chip_cache,
        "peak_bandwidth": device.memory_bandwidth,
        "step_flops": bound(step_flops(place, batch), "FLOP"),
        "peak_compute": place.peak,
        "batch": stated(batch, "streams"),
        "tokens_per_step": bound(place.draft_tokens + 1, "tokens"),
        "assumed_step_bytes": assumed(assumed_step_bytes(place, guess), "B"),
        "assumed_step_flops": assumed(step_flops(place, guess), "FLOP"),
        "assumed_batch": assumed(guess, "streams"),
        "achieved_bandwidth": place.achieved_bandwidth,
        "achieved_compute": place.achieved_compute,
    }
    return tuple(Input(name=name, quantity=q) for name, q in named.items() if q is not None)


def _details(place: Placement, batch: int) -> dict[str, Quantity | str]:
    """Intensity, ridge point, regime, and the batch where arithmetic takes over."""
    moved, flops = step_bytes(place, batch), step_flops(place, batch)
    offline = place.terms.kind == "offline"
    details: dict[str, Quantity | str] = {
        "unit": "a step's time for each of its tokens" if offline else "a step's time",
        "intensity": bound(flops / moved, "FLOP/B"),
    }
    rate, peak = place.device.memory_bandwidth, place.peak
    if rate is None or peak is None:
        return details
    ridge = peak.value / rate.value
    details["ridge_point"] = bound(ridge, "FLOP/B")
    details["regime"] = "memory-bound" if flops / moved < ridge else "compute-bound"
    fixed = place.sums.weights_read + place.sums.kv_shared_moved
    saved = step_flops(place, 1) / ridge - place.sums.kv_moved
    details["compute_bound_from"] = (
        bound(math.ceil(fixed / saved), "streams") if saved > 0 else "no batch"
    )
    return details


def _tokens(number: float) -> str:
    return "1 token" if number == 1 else f"{significant(number, 4)} tokens"


def _lesson(place: Placement, batch: int) -> dict[str, Quantity]:
    sums = place.sums
    moved = sums.assumed_weights + batch * sums.lesson_kv_read
    figures = {"step_bytes": (moved, "B")}
    if place.achieved_bandwidth is not None:
        figures["t_mem"] = (moved / place.achieved_bandwidth.value * 1e3, "ms")
    return {
        name: Quantity(value=value, unit=unit, basis=Basis.ASSUMPTION, source="lesson")
        for name, (value, unit) in figures.items()
    }
