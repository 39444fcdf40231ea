"""One gate's answer: status, both columns, the numbers behind it, and its JSON form.

A gate result keeps its sentences as templates over its own named figures, so that thousands
of combinations cost no text until somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from catalog.quantity import Dimension, Quantity, convert, format_value, significant


class Status(StrEnum):
    """What one gate says of one candidate."""

    PASS = "pass"  # noqa: S105 - the word for a gate that lets a candidate through
    UNLIKELY = "unlikely"
    REJECT = "reject"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


_COUNTED = ("streams", "tokens", "engines", "devices", "all-reduces")
SEVERITY = (Status.REJECT, Status.UNKNOWN, Status.UNLIKELY, Status.PASS)
_DIMENSION = {
    "B": Dimension.BYTES,
    "GiB": Dimension.BYTES,
    "s": Dimension.TIME,
    "ms": Dimension.TIME,
    "FLOP": Dimension.WORK,
    "FLOP/s": Dimension.COMPUTE,
    "B/s": Dimension.BANDWIDTH,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A figure that a gate used, with its basis and source."""

    name: str
    quantity: Quantity

    def to_json(self) -> dict[str, Any]:
        """Name, value, unit, basis, source and date."""
        quantity = self.quantity
        return {
            "name": self.name,
            "value": quantity.value,
            "unit": quantity.unit,
            "basis": quantity.basis.value,
            "source": quantity.source or None,
            "date": quantity.date.isoformat() if quantity.date else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The numbers behind a gate's answer.

    ``details`` are named results beside bound and assumption, ``lesson`` the lesson's own
    figures for the same things.
    """

    inputs: tuple[Input, ...] = ()
    details: Mapping[str, Quantity | str] = field(default_factory=dict)
    lesson: Mapping[str, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate's answer: status, the clause it rests on, both columns, and how they came.

    ``bound`` is proof, ``assumption`` is the lesson's rule or an assumed rate, ``limit`` what
    the contract or the device allows. ``margin`` is the share of the limit that is left
    (negative: violated), by the bound for a reject, else by the worse of both columns.
    ``figured`` gives the numbers behind the answer when somebody asks for them.
    """

    gate: str
    status: Status
    clause: str = ""
    bound: Quantity | None = None
    assumption: Quantity | None = None
    limit: Quantity | None = None
    margin: float | None = None
    formula: str = ""
    open_questions: tuple[str, ...] = ()
    because: str = ""
    working: str = ""
    rule: str = ""
    figured: Callable[[], Figures] = field(default=Figures, compare=False, repr=False)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Figures that the gate used, with their basis and source."""
        return self.figured().inputs

    @property
    def details(self) -> Mapping[str, Quantity | str]:
        """Named results beside bound and assumption."""
        return self.figured().details

    @property
    def lesson(self) -> Mapping[str, Quantity]:
        """The lesson's own figures."""
        return self.figured().lesson

    @property
    def reason(self) -> str:
        """Why the status is what it is, in one sentence with its numbers."""
        return self._filled(self.because, self.figured())

    @property
    def explanation(self) -> str:
        """The formula with its numbers and units, then the lesson's rule that applies."""
        return self._explained(self.figured())

    def _explained(self, figures: Figures) -> str:
        parts = self._filled(self.working, figures), self.rule
        return "\n".join(part for part in parts if part)

    def _filled(self, template: str, figures: Figures) -> str:
        return template.format_map(_Named(self._named(figures))) if template else ""

    def _named(self, figures: Figures) -> Iterator[tuple[str, _Shown]]:
        for name in ("bound", "assumption", "limit"):
            yield name, _Shown(getattr(self, name))
        for entry in figures.inputs:
            yield entry.name, _Shown(entry.quantity)
        for name, detail in figures.details.items():
            yield name, _Shown(detail)
        for name, figure in figures.lesson.items():
            yield f"lesson_{name}", _Shown(figure)

    def to_json(self) -> dict[str, Any]:
        """The gate as ``--json`` prints it: null where there is no figure."""
        figures = self.figured()
        return self._columns(figures) | {
            "reason": self._filled(self.because, figures),
            "explanation": self._explained(figures),
            "details": {name: _detail_json(each) for name, each in figures.details.items()},
            "lesson": {name: quantity_json(each) for name, each in figures.lesson.items()},
            "open_questions": list(self.open_questions),
        }

    def to_brief_json(self) -> dict[str, Any]:
        """The same without sentences and details, for thousands of gates."""
        return self._columns(self.figured())

    def _columns(self, figures: Figures) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "status": self.status.value,
            "clause": self.clause or None,
            "bound": quantity_json(self.bound),
            "assumption": quantity_json(self.assumption),
            "limit": quantity_json(self.limit),
            "margin": self.margin,
            "formula": self.formula,
            "inputs": [entry.to_json() for entry in figures.inputs],
        }


class _Named(dict[str, "_Shown"]):
    """Figures by name; one that a gate could not know reads ``unknown``."""

    def __missing__(self, name: str) -> _Shown:
        return _Shown(None)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A figure inside a sentence: ``{name}`` in a readable unit, ``{name:GB}`` in that one."""

    figure: Quantity | str | None

    def __format__(self, unit: str) -> str:
        if self.figure is None:
            return "unknown"
        if isinstance(self.figure, str):
            return self.figure
        return shown(self.figure, unit)


def shown(quantity: Quantity, unit: str = "") -> str:
    """The quantity with four significant digits, in ``unit`` where one is given."""
    if quantity.unit in _COUNTED and not unit:
        one = quantity.value == 1
        return (
            f"{quantity.value:,.0f} {quantity.unit.removesuffix('s') if one else quantity.unit}"
        )
    if not unit:
        return format_value(quantity.value, quantity.unit, digits=4)
    dimension = _DIMENSION[quantity.unit]
    value = convert(quantity.value, unit, from_unit=quantity.unit, dimension=dimension)
    return f"{significant(value, 4)} {unit}"


def quantity_json(quantity: Quantity | None) -> dict[str, Any] | None:
    """Value, unit and basis; None for none."""
    if quantity is None:
        return None
    return {
        "value": quantity.value,
        "unit": quantity.unit,
        "basis": quantity.basis.value,
    }


def _detail_json(detail: Quantity | str) -> dict[str, Any] | str | None:
    return detail if isinstance(detail, str) else quantity_json(detail)
