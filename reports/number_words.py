"""How a report writes its numbers: three digits, a unit, a basis, and how sure it is.

Every figure of a report passes through here. What was not measured is a dash with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable

from catalog.quantity import Basis, format_value, significant
from reports.phrases import TAGS
from reports.run.number import Number
from reports.tables import Cell, Meaning

DASH = "–"
_SHARES = ("1", "share", "")
_UNITS = {"USD/Mtok": "$ per 1M tokens", "tok/s": "tokens/s", "/s": "per s"}


def digits(value: float | None, unit: str = "ms") -> str:
    """The value alone with three significant digits; its unit stands in the heading."""
    if value is None:
        return DASH
    return significant(value * 100 if unit in _SHARES else value)


def amount(value: float | None, unit: str) -> str:
    """The value with its unit: ``340 ms``, ``98.4%``, ``$1.28/Mtok``."""
    if value is None:
        return DASH
    if unit == "ms":
        return f"{significant(value)} ms" if value < 1000 else f"{value:,.0f} ms"
    return format_value(value, "1" if unit in _SHARES else unit)


def tag(basis: Basis) -> str:
    """The basis in a letter or two, as in the tables of the paper vote."""
    return TAGS[basis]


def unit_words(unit: str) -> str:
    """A unit as the heading of a column says it."""
    return "%" if unit in _SHARES else _UNITS.get(unit, unit)


def interval(number: Number) -> str:
    """``low–mid–high``; where a limit is missing, ``≥ low`` or ``≤ high`` and the middle."""
    low, mid, high = (digits(each, number.unit) for each in _three(number))
    if number.low is not None and number.high is not None:
        return f"{low}–{mid}–{high}" if number.value is not None else f"{low}–{high}"
    if number.low is not None:
        return f"≥ {low}" + (f" (seen {mid})" if number.value is not None else "")
    if number.high is not None:
        return f"≤ {high}" + (f" (seen {mid})" if number.value is not None else "")
    return mid


def number_cell(
    number: Number | None, why: str = "not measured", meaning: Meaning = ""
) -> Cell:
    """The interval with its basis; below it how much it rests on, or why there is none."""
    if number is None:
        return Cell(text=DASH, meaning="none", detail=why)
    if _is_empty(number):
        return Cell(text=DASH, meaning="none", detail=number.note or why)
    return Cell(
        text=f"{interval(number)}\N{NO-BREAK SPACE}{tag(number.basis)}",
        meaning=meaning,
        detail="; ".join(_doubts(number)),
    )


def stacked_cell(
    number: Number | None, why: str = "not measured", *, common: Basis | None = None
) -> Cell:
    """The middle with its limits below it; the basis is left out where it is ``common``."""
    if number is None or number.value is None or _is_empty(number):
        return number_cell(number, why)
    middle = digits(number.value, number.unit)
    basis = "" if number.basis is common else f"\N{NO-BREAK SPACE}{tag(number.basis)}"
    return Cell(
        text=f"{middle}{basis}", limits=limits(number), detail="; ".join(_doubts(number))
    )


def limits(number: Number) -> str:
    """The limits alone: ``312–371``, ``≥ 312``, ``≤ 371``; empty where there are none."""
    low, high = digits(number.low, number.unit), digits(number.high, number.unit)
    if number.low is not None and number.high is not None:
        return f"{low}–{high}"
    if number.low is not None:
        return f"≥ {low}"
    return f"≤ {high}" if number.high is not None else ""


def number_phrase(number: Number | None, why: str = "not measured") -> str:
    """The number in a sentence: ``340 ms (312 to 371, 5 launches, measurement)``."""
    if number is None or _is_empty(number):
        return f"{DASH} ({(number.note if number else None) or why})"
    value = number.value if number.value is not None else number.low
    text = amount(value, number.unit)
    if number.value is None:
        text = f"at least {text}" if number.low is not None else interval(number)
    return f"{text} ({', '.join((*_limits(number), *_rests_on(number), number.basis.value))})"


def ratio_phrase(ratio: Number) -> str:
    """A ratio in a sentence: ``1.42 (1.36 to 1.49, 3 launches, measurement)``."""
    return number_phrase(ratio.model_copy(update={"unit": "ratio"})).replace(" ratio", "")


def p_words(value: float | None) -> str:
    """A p value with two digits; small ones are all alike."""
    if value is None:
        return DASH
    return "< 0.001" if value < 0.001 else significant(value, 2)


def launches(count: int) -> str:
    """``1 launch``, ``5 launches``."""
    return f"{count:,} launch{'es' if count != 1 else ''}"


def basis_of(numbers: Iterable[Number | None]) -> str:
    """The bases of several numbers, each once."""
    found = (number.basis.value for number in numbers if number is not None)
    return ", ".join(dict.fromkeys(found)) or DASH


def _three(number: Number) -> tuple[float | None, float | None, float | None]:
    return number.low, number.value, number.high


def _is_empty(number: Number) -> bool:
    return all(each is None for each in _three(number))


def _doubts(number: Number) -> Iterable[str]:
    if number.low is None and number.high is None and number.basis in _UNCERTAIN:
        yield "no interval"
    if number.note:
        yield number.note


def _limits(number: Number) -> Iterable[str]:
    low, high = amount(number.low, number.unit), amount(number.high, number.unit)
    if number.low is not None and number.high is not None:
        yield f"{low} to {high}"
    elif number.low is not None and number.value is not None:
        yield f"at least {low}"
    elif number.high is not None and number.value is not None:
        yield f"at most {high}"
    elif number.value is not None and number.basis in _UNCERTAIN:
        yield "no interval"


def _rests_on(number: Number) -> Iterable[str]:
    if number.n is not None:
        yield f"{number.n:,} requests"
    if number.runs is not None:
        yield launches(number.runs)


_UNCERTAIN = (Basis.MEASUREMENT, Basis.SIMULATION)
