"""Gate 4, interconnect: tensor parallelism must save more time than its all-reduces cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from catalog import links, scaling
from catalog.architecture import all_reduce_bytes
from catalog.case import Case
from catalog.gates import memory
from catalog.gates._answers import assumed, bound, stated, unknown
from catalog.placement import Placement
from catalog.quantity import Basis, Quantity, significant
from catalog.rules import hardware_rule
from catalog.scaling import Phase, Scaling
from catalog.schema import Link
from catalog.verdict import Figures, GateResult, Input, Status, shown

ORDER = 5
NAME = "interconnect"
READS = "ranks"
_FORMULA = "2L · (α + 2(k−1)/k · M / bandwidth) < t(k') − t(k), in decode and in prefill"
_WORKING = (
    "TP={degree} against TP={sibling}, decode step: bound {all_reduces} · {ring_share} · "
    "{message:kB} / {per_direction} = {bound} of {limit} saved; assumption {all_reduces} · "
    "({alpha} + {ring_share} · {message:kB} / {effective_bandwidth}) = {assumption} of "
    "{decode_saved_assumed}; prefill, the same with {prompt_message:MB}: bound {prefill_cost} "
    "of {prefill_saved}, assumption {prefill_cost_assumed} of {prefill_saved_assumed}; "
    "break-even α {break_even_alpha:µs}"
)
_PAYS = "{bound} of communication per decode step against {limit} saved over TP={sibling}"
_DOMINATED = "slower than TP={sibling}: {losses}"


def judge(case: Case) -> GateResult:
    """Whether the degree beats the largest smaller one that holds the model; never a reject."""
    place = case.placement
    if place.k == 1:
        return _simple(Status.NOT_APPLICABLE, "one device per engine", "no tensor parallelism")
    link = place.link
    if link is None:
        return unknown(NAME, "the link between the devices", formula=_FORMULA)
    sibling = _sibling(place)
    if sibling is None:
        reason = "no smaller degree holds the model, so there is nothing to lose against"
        inputs = partial(_inputs, place, link)
        return _simple(Status.PASS, "no smaller degree fits", reason, inputs)
    return _against(place, sibling, link)


def _against(place: Placement, sibling: Placement, link: Link) -> GateResult:
    least = scaling.bound_scaling(place, sibling, link)
    likely = scaling.assumed_scaling(place, sibling, link)
    if least.decode is None or least.prefill is None:
        return unknown(NAME, f"a peak rate of {place.device.title}", formula=_FORMULA)
    pays = least.pays and likely.pays
    decode = likely.decode or least.decode
    return GateResult(
        gate=NAME,
        status=Status.PASS if pays else Status.UNLIKELY,
        clause=f"faster than TP={sibling.k}" if pays else f"dominated by TP={sibling.k}",
        bound=bound(least.decode.cost_s * 1e3, "ms"),
        assumption=_ms(likely.decode.cost_s) if likely.decode else None,
        limit=bound(least.decode.saved_s * 1e3, "ms"),
        margin=min(_left(least.decode), _left(decode)) if decode.saved_s > 0 else None,
        formula=_FORMULA,
        open_questions=() if likely.decode else (f"all-reduce times over {link.title}",),
        because=_PAYS if pays else _DOMINATED,
        working=_WORKING,
        rule=hardware_rule(place),
        figured=partial(_figures, place, sibling, link, least, likely),
    )


def _figures(
    place: Placement, sibling: Placement, link: Link, least: Scaling, likely: Scaling
) -> Figures:
    text = _losses(least, likely)
    losses: dict[str, Quantity | str] = {"losses": text} if text else {}
    return Figures(
        inputs=_inputs(place, link),
        details=_details(place, sibling, link, least, likely) | losses,
        lesson=_lesson(place, sibling, link),
    )


def _simple(
    status: Status,
    clause: str,
    reason: str,
    inputs: Callable[[], tuple[Input, ...]] = tuple,
) -> GateResult:
    return GateResult(
        gate=NAME,
        status=status,
        clause=clause,
        formula=_FORMULA,
        because="{answer}",
        figured=lambda: Figures(inputs=inputs(), details={"answer": reason}),
    )


def _sibling(place: Placement) -> Placement | None:
    """The largest smaller degree whose ranks divide the model and pass gate 1."""
    for k in range(place.k // 2, 0, -1):
        if place.k % k == 0 and place.arithmetic.uneven(k) is None:
            smaller = place.at_degree(k)
            if memory.holds(smaller):
                return smaller
    return None


def _left(phase: Phase) -> float:
    return (phase.saved_s - phase.cost_s) / phase.saved_s if phase.saved_s > 0 else -1.0


def _losses(least: Scaling, likely: Scaling) -> str:
    """Each phase and column in which the degree is not faster, with its numbers."""
    columns = (("at α = 0", least), ("by assumption", likely))
    return "; ".join(
        f"{name} {column}: {shown(_ms(phase.cost_s))} of communication against "
        f"{shown(_ms(phase.saved_s))} saved"
        for column, times in columns
        for name, phase in (("decode", times.decode), ("prefill", times.prefill))
        if phase is not None and not phase.pays
    )


def _details(
    place: Placement, sibling: Placement, link: Link, least: Scaling, likely: Scaling
) -> dict[str, Quantity | str]:
    details: dict[str, Quantity | str] = {
        "ring_share": significant(links.ring_share(place.k)),
        "degree": f"{place.k}",
        "sibling": f"{sibling.k}",
        "link": link.title,
    }
    if least.prefill is not None:
        details["prefill_cost"] = bound(least.prefill.cost_s * 1e3, "ms")
        details["prefill_saved"] = bound(least.prefill.saved_s * 1e3, "ms")
    if likely.prefill is not None:
        details["prefill_cost_assumed"] = _ms(likely.prefill.cost_s)
        details["prefill_saved_assumed"] = _ms(likely.prefill.saved_s)
    if likely.decode is not None:
        details["decode_saved_assumed"] = _ms(likely.decode.saved_s)
        alpha = scaling.break_even_alpha_s(place, link, likely.decode)
        if alpha is not None:
            details["break_even_alpha"] = _ms(alpha)
    return details


def _inputs(place: Placement, link: Link) -> tuple[Input, ...]:
    row = links.effective_row(link, place.k)
    named = {
        "all_reduces": bound(place.arithmetic.all_reduces, "all-reduces"),
        "message": _message(place, scaling.streams_of(place)),
        "prompt_message": _message(place, scaling.new_prompt_tokens(place)),
        "per_direction": link.per_direction,
        "alpha": row.alpha if row else None,
        "effective_bandwidth": row.bandwidth if row else None,
        "measured_degree": stated(row.devices, "devices") if row else None,
    }
    return tuple(Input(name=name, quantity=q) for name, q in named.items() if q is not None)


def _message(place: Placement, tokens: int) -> Quantity:
    return bound(all_reduce_bytes(place.arithmetic.arch, tokens), "B")


def _lesson(place: Placement, sibling: Placement, link: Link) -> dict[str, Quantity]:
    tokens = scaling.streams_of(place)
    cost = links.lesson_communication_s(place.arithmetic, link, tokens)
    step = scaling.lesson_step_s(place)
    figures = {
        "communication": cost,
        "step_with_communication": None if cost is None or step is None else step + cost,
        "break_even_alpha": scaling.lesson_break_even_alpha_s(place, sibling, link),
    }
    return {
        name: Quantity(value=s * 1e3, unit="ms", basis=Basis.ASSUMPTION, source="lesson")
        for name, s in figures.items()
        if s is not None
    }


def _ms(seconds: float) -> Quantity:
    return assumed(seconds * 1e3, "ms")
