"""The catalog as a person reads it: entries in a line each, and one entry's facts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from catalog.architecture import UnknownArchitecture, parameters, read_config
from catalog.quantity import Quantity, format_value
from catalog.schema import Device, Link, Model, Offer, Runtime

UNKNOWN = "unknown"
_TENTHS_OF_MONEY = re.compile(r"^(?:[$€£¥]|[A-Z]{3} )[\d,]+\.\d(?!\d)")
_FRACTION = re.compile(r"\.\d+")
Entry = Device | Link | Model | Offer | Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One field of an entry; quantities bring their basis, source and date along."""

    field: str
    value: str
    quantity: Quantity | None = None

    @property
    def basis(self) -> str:
        """The basis in a word; empty for what is no quantity."""
        return self.quantity.basis.value if self.quantity else ""

    @property
    def source(self) -> str:
        """Where the value was read; empty for what is no quantity."""
        return self.quantity.source if self.quantity else ""

    @property
    def date(self) -> str:
        """The day of the reading, where it is known."""
        day = self.quantity.date if self.quantity else None
        return day.isoformat() if day else ""

    def to_json(self) -> dict[str, Any]:
        """Strict JSON: a quantity as number and unit, other values as text."""
        if self.quantity is None:
            return {"field": self.field, "value": self.value}
        return {
            "field": self.field,
            "value": self.quantity.value,
            "unit": self.quantity.unit,
            "basis": self.basis,
            "source": self.source,
            "date": self.date or None,
        }


def facts(entry: Entry) -> list[Fact]:
    """Every field that an entry states, nested ones by their dotted path."""
    return [
        fact for name in _named_fields(entry) for fact in _facts(name, getattr(entry, name))
    ]


def _named_fields(entry: BaseModel) -> Iterator[str]:
    """Fields as the model orders them; sources stand by their facts, notes apart."""
    return (name for name in type(entry).model_fields if name not in ("sources", "notes"))


def _facts(field: str, value: object) -> Iterator[Fact]:
    if isinstance(value, Quantity):
        yield Fact(field=field, value=exact(value), quantity=value)
    elif isinstance(value, BaseModel):
        for name in _named_fields(value):
            yield from _facts(f"{field}.{name}", getattr(value, name))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _facts(f"{field}.{name}", item)
    elif isinstance(value, tuple | list) and not all(isinstance(item, str) for item in value):
        for number, item in enumerate(value):
            yield from _facts(f"{field}.{number}", item)
    elif value not in (None, (), []):
        yield Fact(field=field, value=_text(value))


def exact(quantity: Quantity) -> str:
    """The quantity to eight digits without trailing zeros; decimal bytes stay decimal."""
    value, unit = quantity.value, quantity.unit
    if unit == "B" and value % 2**20 and value % 1e9 == 0:
        return f"{value / 1e9:,.0f} GB"
    text = _FRACTION.sub(
        lambda match: match.group().rstrip("0").rstrip("."), format_value(value, unit, 8)
    )
    return _TENTHS_OF_MONEY.sub(r"\g<0>0", text)


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def summary(entry: Entry) -> dict[str, str]:
    """What tells an entry from its neighbours, heading → value, in a line's worth."""
    if isinstance(entry, Device):
        return _device(entry)
    if isinstance(entry, Link):
        return _link(entry)
    if isinstance(entry, Model):
        return _model(entry)
    if isinstance(entry, Offer):
        return _offer(entry)
    return _runtime(entry)


def _device(device: Device) -> dict[str, str]:
    peak = device.compute.get("bf16") or device.compute.get("fp16")
    return {
        "title": device.title,
        "memory": _quantity(device.memory),
        "bandwidth": _quantity(device.memory_bandwidth),
        "16-bit peak": _quantity(peak),
        "assumed bandwidth": _quantity(device.achieved.bandwidth),
    }


def _link(link: Link) -> dict[str, str]:
    measured = ", ".join(f"{row.devices}: {row.bandwidth}" for row in link.effective)
    return {
        "title": link.title,
        "per direction": _quantity(link.per_direction),
        "effective, by devices": measured or UNKNOWN,
    }


def _model(model: Model) -> dict[str, str]:
    try:
        count = f"{parameters(read_config(model.config)):,}"
    except UnknownArchitecture:
        count = UNKNOWN
    return {
        "parameters": count,
        "family": str(model.config.get("model_type", UNKNOWN)),
        "aliases": ", ".join(model.aliases),
    }


def _offer(offer: Offer) -> dict[str, str]:
    return {
        "devices": f"{offer.device_count} × {offer.device}",
        "price": "owned" if offer.owned else _quantity(offer.price),
        "region": offer.region,
        "commitment": offer.commitment,
        "sold as": offer.sold_as,
        "date": offer.date.isoformat() if offer.date else "",
    }


def _runtime(runtime: Runtime) -> dict[str, str]:
    classes = dict.fromkeys(device.device_class for device in runtime.devices)
    return {
        "title": runtime.title,
        "newest release": runtime.versions[-1].version if runtime.versions else UNKNOWN,
        "device classes": ", ".join(classes),
        "model families": str(len(runtime.families)),
    }


def _quantity(quantity: Quantity | None) -> str:
    if quantity is None:
        return UNKNOWN
    return exact(quantity) if quantity.is_verified else f"{exact(quantity)} (unverified)"
