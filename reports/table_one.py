"""The lesson's Table 1: dimension by candidate, both columns, and the basis of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from catalog.quantity import Quantity, significant
from catalog.schema import Device
from catalog.screen import Screen
from catalog.verdict import GateResult, Status, Verdict, shown
from reports.paper_tables import MEANING, gate_word
from reports.phrases import (
    TAGS,
    engine,
    gate_title,
    layout,
    lesson_figure,
    money,
    plain,
    tagged,
)
from reports.tables import Meaning

SPECIFICATION = "Direct Verified Specification"
BOUND = "Calculated Analytical Lower Bound"
ASSUMPTION = "Assumed Operational Parameter (OPEN)"
MEASUREMENT = "Empirical Observable Requiring Measurement (OPEN)"
CONTRACT = "Target Contract"
CONFIGURATION = "Software Stack"
FILTER = "Analytical Elimination Filter"
NONE = "–"
_ALONE = "one device per engine"
_BASIS = {
    SPECIFICATION: "specification (s)",
    BOUND: "bound (b)",
    ASSUMPTION: "assumption (a)",
    MEASUREMENT: "measurement (m)",
    CONTRACT: "stated in the campaign",
    CONFIGURATION: "stated in the campaign",
    FILTER: "worst of the gates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One candidate's figure, the lesson's where it has one; ``why`` there is no figure."""

    ours: str
    lesson: str = ""
    meaning: Meaning = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One dimension over all candidates, with the lesson's tier and our basis."""

    dimension: str
    tier: str
    basis: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A candidate with its device, where it has one."""

    verdict: Verdict
    device: Device | None

    def gate(self, name: str) -> GateResult | None:
        """The result of a gate; None for a candidate that no arithmetic covers."""
        return next((gate for gate in self.verdict.gates if gate.gate == name), None)

    def figure(self, gate: str, name: str) -> Quantity | None:
        """An input or detail of a gate by its name."""
        result = self.gate(gate)
        if result is None:
            return None
        found = next((e.quantity for e in result.inputs if e.name == name), None)
        detail = result.details.get(name)
        return found or (detail if isinstance(detail, Quantity) else None)

    def lesson(self, gate: str, name: str) -> str:
        """The lesson's figure of a gate, or nothing."""
        result = self.gate(gate)
        figure = result.lesson.get(name) if result is not None else None
        return "" if figure is None else lesson_figure(figure)


def table_one(screen: Screen, devices: Mapping[str, Device]) -> tuple[Row, ...]:
    """All rows; ``devices`` holds the devices that candidates name."""
    subjects = [
        Subject(verdict=c, device=devices.get(c.device or "")) for c in screen.candidates
    ]
    contract = screen.contract
    is_measured = any(each.calibrated for each in screen.candidates)
    achieved = "Achieved {}, assumed or measured" if is_measured else "Assumed achieved {}"
    itl = plain(contract.itl) if contract.itl else "none"
    ttft = plain(contract.ttft) if contract.ttft else "none"
    rows = (
        _row(subjects, "Serving runtime", CONFIGURATION, _runtime),
        _row(subjects, "Marketed memory", SPECIFICATION, _marketed),
        _row(subjects, "Usable memory per device", SPECIFICATION, _usable),
        _row(subjects, "Peak memory bandwidth", SPECIFICATION, _peak_bandwidth),
        _row(subjects, "Peak dense compute, maximum clock", SPECIFICATION, _peak_compute),
        _row(subjects, achieved.format("bandwidth"), ASSUMPTION, _achieved_bandwidth),
        _row(subjects, achieved.format("compute"), ASSUMPTION, _achieved_compute),
        _row(subjects, "Interconnect", SPECIFICATION, _interconnect),
        _row(subjects, f"Memory floor{_streams(screen)}", BOUND, _memory_floor),
        _row(subjects, "Data moved per step", BOUND, _data_moved),
        _row(subjects, "Decode step lower bound", BOUND, _decode_step),
        _row(subjects, "All-reduces per step", BOUND, _communication),
        _row(subjects, "Target ITL", CONTRACT, lambda _: Pair(ours=f"≤ {itl}")),
        _row(subjects, "Gate 2 status", BOUND, _status_of("bandwidth")),
        _row(subjects, "Prefill compute lower bound", BOUND, _prefill),
        _row(subjects, "Target TTFT", CONTRACT, lambda _: Pair(ours=f"≤ {ttft}")),
        _row(subjects, "Gate 3 status", BOUND, _status_of("compute")),
        _row(subjects, "Hourly price", ASSUMPTION, _price),
        _row(subjects, "Best case, 1M output tokens", BOUND, _best_case),
        _row(subjects, "Verdict on paper", FILTER, _verdict),
        _row(subjects, "p95 TTFT, p95 ITL, queue time, goodput", MEASUREMENT, _open),
    )
    return tuple(row for row in rows if any(pair.ours != NONE for pair in row.pairs))


def _row(
    subjects: list[Subject], dimension: str, tier: str, cell: Callable[[Subject], Pair]
) -> Row:
    pairs = tuple(cell(subject) for subject in subjects)
    return Row(dimension=dimension, tier=tier, basis=_BASIS[tier], pairs=pairs)


def _runtime(subject: Subject) -> Pair:
    degree = subject.verdict.tensor_parallel or 1
    return Pair(ours=engine(subject.verdict) + (f" (TP={degree})" if degree > 1 else ""))


def _marketed(subject: Subject) -> Pair:
    device = subject.device
    return _times(subject, device.marketed_memory if device else None, decimal=True)


def _usable(subject: Subject) -> Pair:
    reported = subject.figure("memory", "reported_memory")
    lesson = subject.lesson("memory", "decimal_capacity")
    return _pair(reported, lesson)


def _peak_bandwidth(subject: Subject) -> Pair:
    return _times(subject, subject.figure("bandwidth", "peak_bandwidth"))


def _peak_compute(subject: Subject) -> Pair:
    return _times(subject, subject.figure("bandwidth", "peak_compute"))


def _achieved_bandwidth(subject: Subject) -> Pair:
    achieved = subject.figure("bandwidth", "achieved_bandwidth")
    return _share_of(achieved, subject.figure("bandwidth", "peak_bandwidth"))


def _achieved_compute(subject: Subject) -> Pair:
    achieved = subject.figure("compute", "achieved_compute")
    return _share_of(achieved, subject.figure("compute", "peak_compute"))


def _interconnect(subject: Subject) -> Pair:
    rate = subject.figure("interconnect", "per_direction")
    if rate is None:
        return Pair(ours=NONE, why=_ALONE)
    return Pair(ours=f"{plain(rate)} per direction s")


def _memory_floor(subject: Subject) -> Pair:
    return _bound(subject, "memory", "memory_floor")


def _data_moved(subject: Subject) -> Pair:
    moved = subject.figure("bandwidth", "step_bytes")
    lesson = subject.lesson("bandwidth", "step_bytes")
    if moved is None:
        return Pair(ours=NONE, lesson=lesson)
    return Pair(ours=f"{shown(moved, 'GB')} b", lesson=lesson)


def _decode_step(subject: Subject) -> Pair:
    return _bound(subject, "bandwidth", "t_mem")


def _communication(subject: Subject) -> Pair:
    gate = subject.gate("interconnect")
    if gate is None or gate.status is Status.NOT_APPLICABLE:
        return Pair(ours=NONE, why=_ALONE)
    return _pair(gate.bound, subject.lesson("interconnect", "communication"))


def _prefill(subject: Subject) -> Pair:
    return _bound(subject, "compute", "t_prefill")


def _price(subject: Subject) -> Pair:
    price, currency = subject.verdict.hourly, subject.verdict.currency
    if price is None:
        return Pair(ours=NONE, why="no price by the hour")
    return Pair(ours=f"{money(price, currency, '/h')} a")


def _best_case(subject: Subject) -> Pair:
    cost, currency = subject.verdict.cost, subject.verdict.currency
    if cost is None:
        return Pair(ours=NONE, why="no price, or no load at which it holds")
    return Pair(ours=f"{money(cost, currency)} b")


def _verdict(subject: Subject) -> Pair:
    verdict = subject.verdict
    ranks = ", ".join(rank.value for rank in verdict.ranks)
    decided = f" at {gate_title(verdict.decided_by)}" if verdict.decided_by else ""
    text = f"{verdict.verdict.value}{decided}" + (f": {ranks}" if ranks else "")
    return Pair(ours=text, meaning=MEANING[verdict.verdict])


def _open(_: Subject) -> Pair:
    return Pair(ours="not measured", meaning="none")


def _status_of(name: str) -> Callable[[Subject], Pair]:
    def cell(subject: Subject) -> Pair:
        gate = subject.gate(name)
        if gate is None:
            return Pair(ours=NONE)
        return Pair(ours=gate_word(gate), meaning=MEANING[gate.status])

    return cell


def _bound(subject: Subject, gate: str, lesson: str) -> Pair:
    result = subject.gate(gate)
    return _pair(result.bound if result is not None else None, subject.lesson(gate, lesson))


def _pair(ours: Quantity | None, lesson: str) -> Pair:
    return Pair(ours=NONE if ours is None else tagged(ours), lesson=lesson)


def _times(subject: Subject, each: Quantity | None, *, decimal: bool = False) -> Pair:
    """One device's figure, with the number of devices in front."""
    if each is None:
        return Pair(ours=NONE)
    count = subject.verdict.tensor_parallel or 1
    text = f"{each.value / 1e9:g} GB" if decimal and each.value % 1e9 == 0 else plain(each)
    prefix = f"{count}× " if count > 1 else ""
    return Pair(ours=f"{prefix}{text} {TAGS[each.basis]}")


def _share_of(achieved: Quantity | None, peak: Quantity | None) -> Pair:
    """An achieved rate and what share of the peak it is."""
    if achieved is None:
        return Pair(ours=NONE)
    share = f", {significant(achieved.value / peak.value * 100, 2)}% of peak" if peak else ""
    return Pair(ours=f"{plain(achieved)}{share} {TAGS[achieved.basis]}")


def _streams(screen: Screen) -> str:
    streams = screen.contract.concurrency
    return f" (C={streams})" if streams else ""


def headings(screen: Screen) -> tuple[tuple[str, str], ...]:
    """Name and layout of each candidate."""
    return tuple((c.name, layout(c)) for c in screen.candidates)
