"""Field types shared by all files: quantities with their unit, facts with their source."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)

from catalog.quantity import EXAMPLES, UNVERIFIED, Basis, Dimension, Quantity, parse

# A rate of zero would make everything take for ever: it is always a slip of the pen.
_POSITIVE = (
    Dimension.BANDWIDTH,
    Dimension.COMPUTE,
    Dimension.FREQUENCY,
    Dimension.RATE,
    Dimension.THROUGHPUT,
)
# Costs are compared by their ratio, and nothing has none.
_PAID = (Dimension.PRICE, Dimension.COST)
_FACT_KEYS = {"value", "source", "date", "basis", "note"}


class Strict(BaseModel):
    """A mapping in a file: unknown keys are refused, values do not change after loading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True
    )


def _assumed(dimension: Dimension, *, zero: bool = True) -> PlainValidator:
    """A quantity that a file states without a source of its own: that is the file itself."""

    def read(value: object, info: ValidationInfo) -> Quantity:
        if isinstance(value, Quantity):
            return value
        number, unit = parse(value, dimension)
        if number == 0 and not zero:
            raise ValueError(f"{value!r} leaves no time; give more than zero")
        return Quantity(
            value=_plausible(number, value, dimension),
            unit=unit,
            basis=Basis.ASSUMPTION,
            source=(info.context or {}).get("stated_in", "stated in the campaign"),
        )

    return PlainValidator(read)


def _fact(dimension: Dimension) -> PlainValidator:
    """A catalog fact: ``{value, source, date, basis}``, its source a key of ``sources``."""

    def read(value: object, info: ValidationInfo) -> Quantity:
        if isinstance(value, Quantity):
            return value
        if not isinstance(value, Mapping):
            raise ValueError(
                f"{value!r} has no source; write {{value: {EXAMPLES[dimension]}, source: …}}"
            )
        return _read_fact(value, dimension, info.context or {})

    return PlainValidator(read)


def _read_fact(
    entry: Mapping[str, Any], dimension: Dimension, context: Mapping[str, Any]
) -> Quantity:
    unknown = sorted(set(entry) - _FACT_KEYS)
    if unknown:
        raise ValueError(
            f"unknown key {unknown[0]!r}; a fact has {', '.join(sorted(_FACT_KEYS))}"
        )
    if "value" not in entry or "source" not in entry:
        raise ValueError(
            "a fact needs both value and source; write source: unverified where none was read"
        )
    number, unit = parse(entry["value"], dimension)
    source, when = resolve_source(str(entry["source"]), context)
    stated = entry.get("date")
    return Quantity(
        value=_plausible(number, entry["value"], dimension),
        unit=unit,
        basis=_basis(entry.get("basis", Basis.SPECIFICATION)),
        source=source,
        date=read_date(stated) if stated is not None else when,
    )


def _basis(word: Any) -> Basis:
    try:
        return Basis(word)
    except ValueError:
        known = ", ".join(basis.value for basis in Basis)
        raise ValueError(f"basis {word!r} is not known; use one of {known}") from None


def resolve_source(key: str, context: Mapping[str, Any]) -> tuple[str, date | None]:
    """Title and date of the source that ``key`` names in the file's ``sources``.

    The reader of a file passes them as ``context["sources"]``; ``unverified`` stays itself.
    """
    sources: Mapping[str, Source] = context.get("sources", {})
    if key.startswith(UNVERIFIED):
        return key, None
    if key not in sources:
        known = ", ".join([*sorted(sources), UNVERIFIED])
        raise ValueError(f"source {key!r} is not under sources; use one of {known}")
    return sources[key].title, sources[key].date


def _plausible(number: float, seen: object, dimension: Dimension) -> float:
    if number < 0:
        raise ValueError(f"{seen!r} is negative; give the amount itself")
    if number == 0 and dimension in _POSITIVE:
        raise ValueError(f"{seen!r} is no rate; give more than zero, or leave it out")
    if number == 0 and dimension in _PAID:
        raise ValueError(
            f"{seen!r} compares with nothing; give what is paid, of one's own machine its "
            "share of purchase and power, or leave it out: unknown"
        )
    if number > 1 and dimension is Dimension.SHARE:
        raise ValueError(f"{seen!r} is more than the whole; write a share as '95%'")
    return number


def read_date(value: object) -> date:
    """A day written ``2026-08-22``; anything else is refused."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a date; write it as 2026-08-22") from None


def _schema(dimension: Dimension) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "examples": [EXAMPLES[dimension]]})


def _fact_schema(dimension: Dimension) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "object",
            "required": ["value", "source"],
            "additionalProperties": False,
            "properties": {
                "value": {"type": "string", "examples": [EXAMPLES[dimension]]},
                "source": {"type": "string"},
                "date": {"type": "string", "format": "date"},
                "basis": {"enum": [basis.value for basis in Basis]},
                "note": {"type": "string"},
            },
        }
    )


# numbers and truth values only as themselves: "no", "1e3" and "16" in quotes are text
Whole = Annotated[int, Field(strict=True)]
Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

Day = Annotated[
    date, PlainValidator(read_date), WithJsonSchema({"type": "string", "format": "date"})
]

_D = Dimension
Bytes = Annotated[Quantity, _assumed(_D.BYTES), _schema(_D.BYTES)]
Bandwidth = Annotated[Quantity, _assumed(_D.BANDWIDTH), _schema(_D.BANDWIDTH)]
Compute = Annotated[Quantity, _assumed(_D.COMPUTE), _schema(_D.COMPUTE)]
Duration = Annotated[Quantity, _assumed(_D.TIME, zero=False), _schema(_D.TIME)]
Power = Annotated[Quantity, _assumed(_D.POWER), _schema(_D.POWER)]
Price = Annotated[Quantity, _assumed(_D.PRICE), _schema(_D.PRICE)]
Money = Annotated[Quantity, _assumed(_D.MONEY), _schema(_D.MONEY)]
EnergyPrice = Annotated[Quantity, _assumed(_D.ENERGY_PRICE), _schema(_D.ENERGY_PRICE)]
Cost = Annotated[Quantity, _assumed(_D.COST), _schema(_D.COST)]
Rate = Annotated[Quantity, _assumed(_D.RATE), _schema(_D.RATE)]
Throughput = Annotated[Quantity, _assumed(_D.THROUGHPUT), _schema(_D.THROUGHPUT)]
Share = Annotated[Quantity, _assumed(_D.SHARE), _schema(_D.SHARE)]
Points = Annotated[Quantity, _assumed(_D.POINTS), _schema(_D.POINTS)]

BytesFact = Annotated[Quantity, _fact(_D.BYTES), _fact_schema(_D.BYTES)]
BandwidthFact = Annotated[Quantity, _fact(_D.BANDWIDTH), _fact_schema(_D.BANDWIDTH)]
ComputeFact = Annotated[Quantity, _fact(_D.COMPUTE), _fact_schema(_D.COMPUTE)]
DurationFact = Annotated[Quantity, _fact(_D.TIME), _fact_schema(_D.TIME)]
FrequencyFact = Annotated[Quantity, _fact(_D.FREQUENCY), _fact_schema(_D.FREQUENCY)]
PowerFact = Annotated[Quantity, _fact(_D.POWER), _fact_schema(_D.POWER)]


class Source(Strict):
    """Where facts were read, and when (a snapshot's date, not today's)."""

    title: str
    date: Day | None = None
