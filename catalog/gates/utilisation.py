"""Gate 3b, utilisation: requests must not cost more machine time than passes."""

from __future__ import annotations

from functools import partial

from catalog.case import Case
from catalog.gates._answers import assumed, bound, compared, doubt_detail, stated
from catalog.gates._times import by_measurement, missing_detail, side_doubts, worded
from catalog.measured import at_measured
from catalog.placement import Placement
from catalog.quantity import Quantity
from catalog.roofline import (
    Roof,
    assumed_batch,
    assumed_request_s,
    bound_request,
    throughput_batch,
)
from catalog.verdict import Figures, GateResult, Input, Status

ORDER = 4
NAME = "utilisation"
_FORMULA = "λ · max(compute s, memory s) per request ≤ 1"
_WORKING = (
    "bound: {rate} over {engines} · max({compute_time}, {memory_time}) at B = {batch} gives "
    "{bound}; assumption: {rate} over {engines} · {prefill_and_decode} at B = "
    "{assumed_batch} gives {assumption}"
)
_BECAUSE = {
    Status.PASS: "{bound} of the machine at the peak rates, {assumption} by assumption",
    Status.UNLIKELY: "{assumption} of the machine by assumption: requests queue up",
    Status.REJECT: "{bound} of the machine even at the peak rates: the queue grows forever",
    Status.UNKNOWN: "unknown: {missing}",
    Status.NOT_APPLICABLE: "the contract promises no rate",
}
_BY_MEASUREMENT = "{assumption} of the machine by assumption, and no peak is below them"
_DOUBTED = "{bound} exceed the machine, but this rests on what is not verified: {doubt}"


def judge(case: Case) -> GateResult:
    """Whether the rate of requests can be served at all; load points are only printed."""
    place, rate = case.placement, case.placement.terms.rate_per_s
    if rate is None:
        return GateResult(
            gate=NAME,
            status=Status.NOT_APPLICABLE,
            clause="no rate",
            formula=_FORMULA,
            because=_BECAUSE[Status.NOT_APPLICABLE],
            figured=partial(_load_points_alone, place),
        )
    request = bound_request(place)
    least, likely = _share(rate, request.known_s, place), _assumed_share(rate, place)
    over = least is not None and least > 1
    doubts = _doubts(place, request, rate) if over else ()
    status, margin = _judged(
        least, likely, doubts, is_complete=over or request.seconds is not None
    )
    by_measured = status is Status.UNKNOWN
    if by_measured:
        status, margin = by_measurement(_longest(place, rate), likely, 1.0)
    by_measured = by_measured and status is Status.PASS
    return GateResult(
        gate=NAME,
        status=status,
        clause=f"{rate:g} requests/s",
        bound=None if least is None else bound(least, "1"),
        assumption=None if likely is None else assumed(likely, "1"),
        limit=stated(1.0, "1"),
        margin=margin,
        formula=_FORMULA,
        because=worded(
            _DOUBTED if doubts else _BY_MEASUREMENT if by_measured else _BECAUSE[status], place
        ),
        working=_WORKING,
        figured=partial(_figures, place, request, rate, doubts),
    )


def _load_points_alone(place: Placement) -> Figures:
    return Figures(details=_load_points(place, bound_request(place)))


def _figures(
    place: Placement, request: Roof, rate_per_s: float, doubts: tuple[str, ...]
) -> Figures:
    points = _load_points(place, request)
    return Figures(
        inputs=_inputs(place, request, rate_per_s),
        details=points | missing_detail(place) | doubt_detail(doubts),
    )


def _judged(
    least: float | None, likely: float | None, doubts: tuple[str, ...], *, is_complete: bool
) -> tuple[Status, float | None]:
    if least is None or not is_complete:
        return Status.UNKNOWN, None
    return compared(least, likely, 1.0, doubts=doubts)


def _longest(place: Placement, rate_per_s: float) -> Roof | None:
    """The engines' share at rates that were measured, where peaks are unknown."""
    known = at_measured(place)
    if known is None:
        return None
    request, engines = bound_request(known), place.engines / rate_per_s
    return Roof(
        memory_s=None if request.memory_s is None else request.memory_s / engines,
        compute_s=None if request.compute_s is None else request.compute_s / engines,
    )


def _share(rate_per_s: float, request_s: float | None, place: Placement) -> float | None:
    """Share of the engines' time that the rate takes."""
    return None if request_s is None else rate_per_s * request_s / place.engines


def _assumed_share(rate_per_s: float, place: Placement) -> float | None:
    return _share(rate_per_s, assumed_request_s(place), place)


def _load_points(place: Placement, request: Roof) -> dict[str, Quantity | str]:
    details: dict[str, Quantity | str] = {}
    for rate in place.terms.load_points_per_s:
        least, likely = _share(rate, request.seconds, place), _assumed_share(rate, place)
        if least is not None:
            details[f"at_{rate:g}_per_s_bound"] = bound(least, "1")
        if likely is not None:
            details[f"at_{rate:g}_per_s_assumed"] = assumed(likely, "1")
    return details


def _doubts(place: Placement, request: Roof, rate_per_s: float) -> tuple[str, ...]:
    by_arithmetic = (_share(rate_per_s, request.compute_s, place) or 0.0) > 1
    return side_doubts(place, memory=not by_arithmetic)


def _inputs(place: Placement, request: Roof, rate_per_s: float) -> tuple[Input, ...]:
    likely = assumed_request_s(place)
    named = {
        "rate": stated(rate_per_s, "/s"),
        "engines": stated(place.engines, "engines"),
        "batch": bound(throughput_batch(place), "streams"),
        "assumed_batch": assumed(assumed_batch(place), "streams"),
        "compute_time": _time(request.compute_s),
        "memory_time": _time(request.memory_s),
        "prefill_and_decode": None if likely is None else assumed(likely * 1e3, "ms"),
    }
    return tuple(Input(name=name, quantity=q) for name, q in named.items() if q is not None)


def _time(seconds: float | None) -> Quantity | None:
    return None if seconds is None else bound(seconds * 1e3, "ms")
