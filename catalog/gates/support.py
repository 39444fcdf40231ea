"""Gate 0, support: the pinned runtime serves this model in this form on this device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from catalog.capabilities import holds, is_below, release_index
from catalog.case import Case
from catalog.placement import NEEDS_BF16, Placement
from catalog.rules import runtime_rule
from catalog.schema.runtime import DeviceSupport
from catalog.verdict import SEVERITY, Figures, GateResult, Status

ORDER = 0
NAME = "support"
_FORMULA = (
    "release serves architecture, weights, KV cache, context and degree on the device class"
)
_WORKING = (
    "{runtime} {release}, {family} with {weights} weights and {kv_cache} KV cache, "
    "TP={degree}, {context} of at most {maximum_context} tokens, on {device}: {answer}"
)


class Finding(NamedTuple):
    """One thing that is not as it must be, and what that means for the candidate."""

    status: Status
    clause: str
    text: str


def judge(case: Case) -> GateResult:
    """The worst finding, or a pass where there is none."""
    place = case.placement
    worst = min(_findings(place), key=lambda f: SEVERITY.index(f.status), default=_PASS)
    return GateResult(
        gate=NAME,
        status=worst.status,
        clause=worst.clause,
        formula=_FORMULA,
        open_questions=_open(place),
        because="{answer}",
        working=_WORKING,
        rule=runtime_rule(place),
        figured=partial(_figures, place, worst),
    )


def _figures(place: Placement, worst: Finding) -> Figures:
    return Figures(
        details={
            "answer": worst.text,
            "runtime": place.runtime.title,
            "release": place.version,
            "family": place.family,
            "weights": place.weights.name,
            "kv_cache": place.kv.name,
            "degree": f"{place.k}",
            "context": f"{place.terms.maximum_context:,}",
            "maximum_context": f"{_maximum_context(place):,}",
            "device": place.device.title,
        }
    )


_PASS = Finding(Status.PASS, "the runtime serves this candidate", "the release supports it")


def _findings(place: Placement) -> Iterator[Finding]:
    yield from _model_findings(place)
    if release_index(place.runtime, place.version) is None:
        yield _unknown_release(place)
        return
    yield from _family_findings(place)
    if place.support is None:
        title, kind = place.runtime.title, place.device.device_class
        text = f"{title} {place.version} does not run on {kind} devices"
        yield Finding(Status.REJECT, "device class", text)
        return
    yield from _precision_findings(place, place.support)
    yield from _machine_findings(place, place.support)


def _unknown_release(place: Placement) -> Finding:
    known = ", ".join(release.version for release in place.runtime.versions)
    seen = place.version or "no release"
    text = f"{place.runtime.title} {seen} is not among the known releases ({known})"
    return Finding(Status.UNKNOWN, "version", text)


def _model_findings(place: Placement) -> Iterator[Finding]:
    """What the model's own shape forbids, whatever the runtime."""
    proven = Status.REJECT if place.model_verified else Status.UNLIKELY
    uneven = place.arithmetic.uneven(place.k)
    if uneven is not None:
        yield Finding(proven, f"TP={place.k} divides the model", uneven)
    longest, most = place.terms.maximum_context, _maximum_context(place)
    if longest > most:
        text = f"the longest request has {longest:,} tokens and {most:,} can be served"
        yield Finding(proven, "context", text)


def _maximum_context(place: Placement) -> int:
    limits = [place.arithmetic.arch.max_context]
    if place.runtime.maximum_context != "model":
        limits.append(place.runtime.maximum_context)
    if place.maximum_model_length is not None:
        limits.append(place.maximum_model_length)
    return min(limits)


def _family_findings(place: Placement) -> Iterator[Finding]:
    family, runtime = place.family, place.runtime
    entry = next((known for known in runtime.families if known.family == family), None)
    if entry is None:
        text = f"whether {runtime.title} serves {family!r} is not in its catalog entry"
        yield Finding(Status.UNKNOWN, "architecture", text)
    elif not holds(runtime, place.version, since=entry.since, until=None):
        text = f"{runtime.title} serves {family!r} since {entry.since}, not in {place.version}"
        yield Finding(Status.REJECT, "architecture", text)


def _precision_findings(place: Placement, entry: DeviceSupport) -> Iterator[Finding]:
    release = f"{place.runtime.title} {place.version}"
    where = f"on {entry.device_class} devices"
    if place.weights.name not in entry.weights:
        text = f"{release} has no {place.weights.name} weights {where}"
        yield Finding(Status.REJECT, "weights precision", text)
    if place.kv.name not in entry.kv_cache:
        text = f"{release} has no {place.kv.name} KV cache {where}"
        yield Finding(Status.REJECT, "KV cache precision", text)
    device = place.device
    if place.weights.name in NEEDS_BF16 and device.compute and "bf16" not in device.compute:
        yield Finding(Status.REJECT, "weights precision", f"{device.title} has no BF16")


def _machine_findings(place: Placement, entry: DeviceSupport) -> Iterator[Finding]:
    if place.k > entry.maximum_tensor_parallel:
        most = entry.maximum_tensor_parallel
        text = f"{place.runtime.title} {place.version} goes to TP={most} here, not {place.k}"
        yield Finding(Status.REJECT, "tensor parallelism", text)
    needed = (
        entry.minimum_compute_capability,
        entry.compute_capability_by_precision.get(place.weights.name),
    )
    for minimum in filter(None, needed):
        yield from _too_low(
            "compute capability", place.device.compute_capability, minimum, place.device.title
        )
    if place.driver is not None and entry.minimum_driver is not None:
        yield from _too_low("driver", place.driver, entry.minimum_driver, "the host")


def _too_low(what: str, seen: str | None, needed: str, whose: str) -> Iterator[Finding]:
    below = None if seen is None else is_below(seen, needed)
    if below is None:
        text = f"{needed} is needed and that of {whose} is {seen or 'not known'}"
        yield Finding(Status.UNKNOWN, what, f"{what} {text}")
    elif below:
        yield Finding(Status.REJECT, what, f"{what} {seen} of {whose} is below {needed}")


def _open(place: Placement) -> tuple[str, ...]:
    needed = place.support.minimum_driver if place.support is not None else None
    if place.driver is None and needed is not None:
        return (f"driver {needed} or newer on the host",)
    return ()
