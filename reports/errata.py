"""Which of the lesson's figures that do not hold a gate's reader may have in mind."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.quantity import Basis, Quantity
from catalog.verdict import GateResult, Verdict

PAGE = "docs/lesson-errata.md"
_NEAR_PEAK = 0.95


def errata(verdict: Verdict, gate: GateResult) -> tuple[str, ...]:
    """Sections of the errata page that concern this gate of this candidate."""
    return tuple(f"{PAGE} section {section}" for section in _sections(verdict, gate))


def _sections(verdict: Verdict, gate: GateResult) -> Iterator[str]:
    degree = verdict.tensor_parallel or 1
    if gate.gate == "memory" and gate.lesson:
        if degree > 1:
            yield "1 (the floor of two GPUs)"
        if _reads_marketed_bytes(gate):
            yield "4 (decimal capacity and what a driver reports)"
            yield "5 (what ECC takes)"
    if gate.gate == "compute" and gate.lesson:
        yield "2 (prefill without its attention)"
        if _is_near_peak(gate):
            yield "8 (an achieved rate near or above the peak)"
    if gate.gate == "interconnect" and degree > 1:
        yield "3 (negative scaling over PCIe)"
        yield "6 (both directions of a link together)"
    if gate.gate == "economics" and gate.bound is not None:
        yield "7 (the sample outcome of $1.28)"


def _reads_marketed_bytes(gate: GateResult) -> bool:
    """Whether the lesson's capacity differs from what the driver reports."""
    lesson, limit = gate.lesson.get("decimal_capacity"), gate.limit
    return lesson is not None and limit is not None and lesson.value != limit.value


def _is_near_peak(gate: GateResult) -> bool:
    figures: dict[str, Quantity] = {entry.name: entry.quantity for entry in gate.inputs}
    achieved, peak = figures.get("achieved_compute"), figures.get("peak_compute")
    if achieved is None or peak is None or achieved.basis is Basis.MEASUREMENT:
        return False
    return achieved.value > _NEAR_PEAK * peak.value
