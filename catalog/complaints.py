"""What pydantic refuses, as complaints with file and line that a person can act on."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from catalog.errors import CatalogError
from catalog.limits import refused
from catalog.schema.campaign import Campaign
from catalog.yaml_nodes import Document

_SHOWN = 10
_WIDTH = 60
_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text (in quotes if it looks like a number)",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` for the nearest known word, else the known words."""
    words = sorted(known)
    lowered = {name.lower(): name for name in words}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {lowered[near[0]]!r}?"
    shown = ", ".join(words[:_SHOWN]) + (", …" if len(words) > _SHOWN else "")
    return f"Known: {shown}" if words else "None is known here"


def complaint(
    document: Document,
    error: ValidationError,
    model_type: type[BaseModel],
    prefix: Sequence[str | int] = (),
) -> CatalogError:
    """All of a file's faults in one error: the first in full, the others a line each."""
    found: dict[str, tuple[str, str, str]] = {}
    for details in error.errors(include_url=False):
        location = (*prefix, *details["loc"])
        where = document.where(location)
        seen, do = _sentences(details, model_type)
        found.setdefault(f"{where} {details['loc'][:2]}", (where, seen, do))
    first, *others = found.values()
    lines = [f"\n{where}: {seen}. {do}" for where, seen, do in others[:_SHOWN]]
    if len(others) > _SHOWN:
        lines.append(f"\n… and {len(others) - _SHOWN} more")
    return CatalogError(first[0], first[1], first[2] + "".join(lines))


def _sentences(details: ErrorDetails, model_type: type[BaseModel]) -> tuple[str, str]:
    """What was seen at a field, and what to do about it."""
    kind, location = details["type"], details["loc"]
    name, seen = _name(location), _shortened(details["input"])
    if kind == "extra_forbidden":
        return _unknown_key(details, model_type)
    if kind == "missing":
        return f"key {str(location[-1])!r} is missing{_inside(location)}", "Add it"
    if kind == "value_error":
        return _split(name, str(details["ctx"]["error"]))
    if kind in ("literal_error", "enum"):
        return _choice(details, name)
    if kind in _EXPECTED:
        return f"{name}: {seen} is not {_EXPECTED[kind]}", f"Write {_EXPECTED[kind]}"
    return f"{name}: {seen} does not fit", details["msg"]


def _unknown_key(details: ErrorDetails, model_type: type[BaseModel]) -> tuple[str, str]:
    """What is out of scope is refused by its name, other keys get the nearest known one."""
    location, key = details["loc"], str(details["loc"][-1])
    limit = refused(key, details["input"]) if model_type is Campaign else None
    if limit is not None:
        seen, do = limit
        return f"key {key!r}{_inside(location)}: {seen}", do
    known = _known_keys(model_type, location[:-1])
    return f"unknown key {key!r}{_inside(location)}", did_you_mean(key, known)


def _choice(details: ErrorDetails, name: str) -> tuple[str, str]:
    allowed = [str(word) for word in _quoted(details["ctx"].get("expected", ""))]
    if details["loc"][-1] == "[key]":
        return f"unknown key {details['loc'][-2]!r}", did_you_mean(
            str(details["loc"][-2]), allowed
        )
    seen = _shortened(details["input"])
    choices = ", ".join(allowed)
    near = did_you_mean(str(details["input"]), allowed)
    hint = near if near.startswith("Did") else f"Use one of {choices}"
    return f"{name}: {seen} is not one of {choices}", hint


def _quoted(expected: str) -> list[str]:
    """Words of pydantic's ``'a', 'b' or 'c'``; numbers stand there without quotes."""
    return [
        part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",") if part
    ]


def _split(name: str, message: str) -> tuple[str, str]:
    """A validator's ``seen; what to do`` apart."""
    seen, _, do = message.partition("; ")
    advice = do[:1].upper() + do[1:] if do else "Correct it"
    return (f"{name}: {seen}" if name else seen), advice


def _name(location: Sequence[str | int]) -> str:
    """``candidates[0].offer``, without the marks that pydantic adds for unions."""
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
    return text


def _inside(location: Sequence[str | int]) -> str:
    parent = _name(location[:-1])
    return f" in {parent}" if parent else ""


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _known_keys(model_type: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Keys of the model that stands at ``location`` below ``model_type``."""
    here: Any = model_type
    for step in location:
        here = _below(here, step)
    return list(here.model_fields) if _is_model(here) else []


def _below(annotation: Any, step: str | int) -> Any:
    """The annotation one step further down; unions and Annotated are looked through."""
    for option in _options(annotation):
        if _is_model(option) and step in option.model_fields:
            return _model_of(option.model_fields[str(step)].annotation)
        if get_origin(option) is tuple and isinstance(step, int):
            return _model_of(get_args(option)[0])
        if get_origin(option) in (dict, Mapping) and isinstance(step, str):
            return _model_of(get_args(option)[1])
    return annotation


def _options(annotation: Any) -> tuple[Any, ...]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _options(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return tuple(part for option in get_args(annotation) for part in _options(option))
    return (annotation,)


def _model_of(annotation: Any) -> Any:
    """The one model among a union's options, else the annotation itself."""
    return next((option for option in _options(annotation) if _is_model(option)), annotation)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
