"""Value, unit, basis, source, date: a number never travels alone.

The one module that reads, converts and prints units. Values are kept in the base unit of
their dimension (bytes, bytes per second, FLOP/s, seconds, hertz, watts, currency per hour);
decimal (GB) and binary (GiB) multiples are different units and are never confused.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum

PRICE_UNITS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
UNVERIFIED = "unverified"


class Basis(StrEnum):
    """How a number came to be (what it may decide: see docs/concepts/basis.md)."""

    SPECIFICATION = "specification"
    BOUND = "bound"
    ASSUMPTION = "assumption"
    PREDICTION = "prediction"
    MEASUREMENT = "measurement"
    SIMULATION = "simulation"


class Dimension(StrEnum):
    """What a quantity measures; the value names its base unit."""

    BYTES = "B"
    BANDWIDTH = "B/s"
    COMPUTE = "FLOP/s"
    WORK = "FLOP"
    TIME = "s"
    FREQUENCY = "Hz"
    POWER = "W"
    PRICE = "USD/h"
    MONEY = "USD"
    ENERGY_PRICE = "USD/kWh"
    COST = "USD/Mtok"
    RATE = "/s"
    THROUGHPUT = "tok/h"
    SHARE = "1"
    POINTS = "points"


_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}


def _scaled(suffix: str, prefixes: dict[str, float]) -> dict[str, float]:
    return {prefix + suffix: factor for prefix, factor in prefixes.items()}


_UNITS: dict[Dimension, dict[str, float]] = {
    Dimension.BYTES: _scaled("B", _DECIMAL) | _scaled("B", _BINARY),
    Dimension.BANDWIDTH: _scaled("B/s", _DECIMAL) | _scaled("B/s", _BINARY),
    Dimension.COMPUTE: _scaled("FLOP/s", _DECIMAL) | _scaled("OP/s", _DECIMAL),
    Dimension.WORK: _scaled("FLOP", _DECIMAL),
    Dimension.TIME: {
        "ns": 1e-9,
        "us": 1e-6,
        "µs": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "min": 60.0,
        "h": 3600.0,
        "d": 86400.0,
        "years": 31_557_600.0,
    },
    Dimension.FREQUENCY: _scaled("Hz", _DECIMAL),
    Dimension.POWER: {"W": 1.0, "kW": 1e3},
    Dimension.RATE: {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600},
    Dimension.THROUGHPUT: {"tok/h": 1.0, "tok/s": 3600.0, "ktok/h": 1e3, "Mtok/h": 1e6},
    Dimension.SHARE: {"%": 0.01, "": 1.0},
    Dimension.POINTS: {"point": 1.0, "points": 1.0},
}
EXAMPLES = {
    Dimension.BYTES: "81920 MiB",
    Dimension.BANDWIDTH: "2039 GB/s",
    Dimension.COMPUTE: "312 TFLOP/s",
    Dimension.WORK: "14.57 TFLOP",
    Dimension.TIME: "25 ms",
    Dimension.FREQUENCY: "1410 MHz",
    Dimension.POWER: "400 W",
    Dimension.PRICE: "$3.43/h",
    Dimension.MONEY: "$50",
    Dimension.ENERGY_PRICE: "$0.15/kWh",
    Dimension.COST: "$2.50/Mtok",
    Dimension.RATE: "8/s",
    Dimension.THROUGHPUT: "50 Mtok/h",
    Dimension.SHARE: "95%",
    Dimension.POINTS: "1 point",
}
_MONEY_SUFFIX = {
    Dimension.PRICE: "/h",
    Dimension.MONEY: "",
    Dimension.ENERGY_PRICE: "/kWh",
    Dimension.COST: "/Mtok",
}
_NUMBER = r"(?P<number>[-+]?(?:\d[\d_,]*)?(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_PLAIN = re.compile(rf"^\s*{_NUMBER}\s*(?P<unit>\D.*?)?\s*$")
_SYMBOL = re.compile(rf"^\s*(?P<sign>-?)(?P<symbol>[$€£¥])\s*{_NUMBER}\s*(?P<per>/\w+)?\s*$")
_CODE = re.compile(rf"^\s*{_NUMBER}\s*(?P<code>[A-Z]{{3}})\s*(?P<per>/\w+)?\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in the base unit of its dimension, with the basis and source it rests on."""

    value: float
    unit: str
    basis: Basis
    source: str = ""
    date: dt.date | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"a quantity must be finite, not {self.value}")

    @property
    def is_verified(self) -> bool:
        """True unless the fact is marked as general knowledge without a source read."""
        return not self.source.startswith(UNVERIFIED)

    def derived(self, value: float, unit: str, basis: Basis) -> Quantity:
        """The same provenance for a number computed from this one."""
        return replace(self, value=value, unit=unit, basis=basis)

    def __str__(self) -> str:
        return format_value(self.value, self.unit)


def parse(text: object, dimension: Dimension) -> tuple[float, str]:
    """Value in the dimension's base unit, and that unit; a missing or wrong unit is refused.

    Money keeps its currency: ``$3.43/h`` and ``3.10 EUR/h`` give ``USD/h`` and ``EUR/h``.

    Raises
    ------
    ValueError
        With what was seen and an example of what is accepted.
    """
    example = EXAMPLES[dimension]
    if isinstance(text, bool) or not isinstance(text, str):
        raise ValueError(f"{text!r} has no unit; write it with its unit, such as {example!r}")
    if dimension in _MONEY_SUFFIX:
        return _parse_money(text, dimension)
    match = _PLAIN.match(text)
    if match is None or not match["number"]:
        raise ValueError(f"{text!r} is not a quantity; write it as {example!r}")
    unit = (match["unit"] or "").strip()
    factor = _UNITS[dimension].get(unit)
    if factor is None:
        raise ValueError(_unit_complaint(text, unit, dimension))
    return _finite(_scale(_number(match["number"]), factor), text), dimension.value


def _parse_money(text: str, dimension: Dimension) -> tuple[float, str]:
    suffix, example = _MONEY_SUFFIX[dimension], EXAMPLES[dimension]
    symbol, code = _SYMBOL.match(text), _CODE.match(text)
    match = symbol or code
    if match is None or not match["number"]:
        raise ValueError(f"{text!r} is not money with its unit; write it as {example!r}")
    if (match["per"] or "") != suffix:
        raise ValueError(f"{text!r} needs the unit of {example!r}")
    currency = PRICE_UNITS[symbol["symbol"]] if symbol else match["code"]
    value = _number(match["number"]) * (-1 if symbol and symbol["sign"] else 1)
    return _finite(value, text), currency + suffix


def _number(digits: str) -> float:
    return float(digits.replace("_", "").replace(",", ""))


def _scale(value: float, factor: float) -> float:
    """``value * factor``; small factors divide, so that 95% is 0.95 to the last bit."""
    return value * factor if factor >= 1 else value / round(1 / factor)


def _finite(value: float, text: str) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large to be a physical quantity")
    return value


def _unit_complaint(text: str, unit: str, dimension: Dimension) -> str:
    example = EXAMPLES[dimension]
    if not unit:
        return f"{text!r} has no unit; write it with its unit, such as {example!r}"
    known = ", ".join(u for u in _UNITS[dimension] if u)
    return (
        f"unit {unit!r} in {text!r} does not fit here; use one of {known} (as in {example!r})"
    )


def convert(value: float, unit: str, *, from_unit: str, dimension: Dimension) -> float:
    """``value`` given in ``from_unit`` expressed in ``unit``; both of ``dimension``."""
    units = _UNITS[dimension]
    return value * units[from_unit] / units[unit]


_DISPLAY: dict[str, list[tuple[float, str]]] = {
    "B/s": [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")],
    "FLOP/s": [(1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1, "FLOP/s")],
    "FLOP": [(1e12, "TFLOP"), (1e9, "GFLOP"), (1, "FLOP")],
    "B": [(2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1, "B")],
    "s": [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
    "ms": [(1e3, "s"), (1, "ms"), (1e-3, "µs")],
    "Hz": [(1e9, "GHz"), (1e6, "MHz"), (1, "Hz")],
    "W": [(1e3, "kW"), (1, "W")],
}


def format_value(value: float, unit: str, digits: int = 3) -> str:
    """The number with ``digits`` significant digits and a readable multiple of its unit."""
    if unit == "1":
        return f"{significant(value * 100, digits)}%"
    for factor, name in _DISPLAY.get(unit, []):
        if abs(value) >= factor:
            return f"{significant(value / factor, digits)} {name}"
    currency, slash, per = unit.partition("/")
    if len(currency) == 3 and currency.isupper():
        symbol = {code: sign for sign, code in PRICE_UNITS.items()}.get(
            currency, currency + " "
        )
        return f"{symbol}{significant(value, digits)}{slash}{per}"
    joint = "" if unit.startswith("/") else " "
    return f"{significant(value, digits)}{joint}{unit}".strip()


def significant(value: float, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits, no exponent, a true minus sign."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}".replace("-", "−")
