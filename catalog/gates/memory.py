"""Gate 1, memory: weights and KV cache must fit in what the driver reports."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from catalog.case import Case
from catalog.gates._answers import (
    GIB,
    assumed,
    bound,
    compared,
    doubt_detail,
    stated,
    unknown,
    unverified,
)
from catalog.placement import Placement
from catalog.quantity import Basis, Quantity
from catalog.rules import hardware_rule
from catalog.verdict import Figures, GateResult, Input, Status

ORDER = 1
NAME = "memory"
READS = "ranks"
_CLAUSE = "weights and KV cache fit in memory"
_FORMULA = "W/k + max(C·KV(S_avg), KV(S_max)) ≤ reported memory"
_WORKING = (
    "bound: {weights:GiB} + {kv_cache:GiB} = {bound} ≤ {limit}; "
    "assumption: {weights_held:GiB} + {kv_cache_longest:GiB} + {workspace:GiB} workspace = "
    "{assumption} ≤ {memory_utilisation} of {reported_memory:GiB} = {usable}"
)
_WORKING_OFFLOADED = _WORKING.replace(" = {usable}", " + {offloaded:GiB} offloaded = {usable}")
_BECAUSE = {
    Status.PASS: "{assumption} of {usable} usable; {spare_kv} to spare",
    Status.UNLIKELY: "{assumption} with workspace exceeds the {usable} that are usable",
    Status.REJECT: "at least {bound} are needed and {limit} are there",
}
_DOUBTED = "{bound} exceed {limit}, but this rests on what is not verified: {doubt}"


def judge(case: Case) -> GateResult:
    """Whether the streams of the contract fit on each rank, without and with reserves."""
    place = case.placement
    need, capacity = needed_bytes(place), place.capacity_bytes
    if place.memory is None or capacity is None:
        missing = f"the memory that the driver of {place.device.title} reports"
        return unknown(NAME, missing, clause=_CLAUSE, formula=_FORMULA)
    if place.offload is not None and place.host_memory is None and need > capacity:
        return unknown(NAME, "the host's memory, to offload to", clause=_CLAUSE)
    floor, usable = assumed_bytes(place), place.usable_bytes or 0.0
    doubts = _doubts(place) if need > capacity else ()
    status, margin = compared(need, floor, capacity, usable=usable, doubts=doubts)
    return GateResult(
        gate=NAME,
        status=status,
        clause=_CLAUSE,
        bound=bound(need / GIB, "GiB"),
        assumption=assumed(floor / GIB, "GiB"),
        limit=bound(capacity / GIB, "GiB"),
        margin=margin,
        formula=_FORMULA,
        because=_DOUBTED if doubts else _BECAUSE[status],
        working=_WORKING if place.offload is None else _WORKING_OFFLOADED,
        rule=hardware_rule(place),
        figured=partial(_figures, place, doubts),
    )


def holds(place: Placement) -> bool:
    """Whether the model and its streams fit by the bound and by the assumption."""
    capacity, usable = place.capacity_bytes, place.usable_bytes
    if capacity is None or usable is None:
        return False
    return needed_bytes(place) <= capacity and assumed_bytes(place) <= usable


def needed_bytes(place: Placement) -> float:
    """Bytes on a rank without any reserve."""
    return place.sums.weights + place.sums.kv_shared + _resident(place)


def assumed_bytes(place: Placement) -> float:
    """Bytes on a rank by the lesson's rule: all streams at their longest, and workspace."""
    sums = place.sums
    cache = place.streams * sums.assumed_kv_longest
    return sums.assumed_weights + cache + place.workspace.value


def _figures(place: Placement, doubts: tuple[str, ...]) -> Figures:
    return Figures(
        inputs=_inputs(place),
        details=_details(place) | doubt_detail(doubts),
        lesson=_lesson(place),
    )


def _resident(place: Placement) -> float:
    """KV cache of all streams at S_avg, or of one at S_max where that is more.

    Only a stated concurrency makes more than one stream certain.
    """
    return max(place.streams * place.sums.kv_mean, place.sums.kv_longest)


def _doubts(place: Placement) -> tuple[str, ...]:
    model = () if place.model_verified else (f"the configuration of {place.model}",)
    host = place.host_memory if place.offload else None
    return model + unverified({"reported memory": place.memory, "host memory": host})


def _inputs(place: Placement) -> tuple[Input, ...]:
    sums = place.sums
    named = {
        "weights": bound(sums.weights, "B"),
        "kv_cache": bound(sums.kv_shared + _resident(place), "B"),
        "reported_memory": place.memory,
        "host_memory": place.host_memory if place.offload else None,
        "weights_held": assumed(sums.assumed_weights, "B"),
        "kv_cache_longest": assumed(place.streams * sums.assumed_kv_longest, "B"),
        "workspace": place.workspace,
        "memory_utilisation": _utilisation(place),
        "offloaded": stated(place.offload.value / place.k, "B") if place.offload else None,
    }
    return tuple(Input(name=name, quantity=q) for name, q in named.items() if q is not None)


def _utilisation(place: Placement) -> Quantity:
    share = stated(place.utilisation, "1")
    if place.is_default_utilisation:
        return replace(share, source="the runtime's default")
    return share


def _details(place: Placement) -> dict[str, Quantity | str]:
    sums, usable = place.sums, place.usable_bytes or 0.0
    details: dict[str, Quantity | str] = {
        "usable": assumed(usable / GIB, "GiB"),
        "spare_kv": assumed((usable - assumed_bytes(place)) / GIB, "GiB"),
    }
    if sums.assumed_kv_longest > 0:
        free = usable - sums.assumed_weights - place.workspace.value
        fit = max(0, int(free // sums.assumed_kv_longest))
        details["streams_that_fit"] = assumed(fit, "streams")
    return details


def _lesson(place: Placement) -> dict[str, Quantity]:
    sums, marketed = place.sums, place.device.marketed_memory
    floor = sums.assumed_weights + place.streams * sums.lesson_kv_longest
    figures = {
        "memory_floor": (floor + place.workspace.value) / GIB,
        "decimal_capacity": marketed.value / GIB,
        "usable_at_utilisation": marketed.value * place.utilisation / GIB,
        "spare_kv": (marketed.value - floor - place.workspace.value) / GIB,
    }
    return {
        name: Quantity(value=value, unit="GiB", basis=Basis.ASSUMPTION, source="lesson")
        for name, value in figures.items()
    }
