"""What pydantic refuses, as complaints with file and line that a person can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from catalog.annotations import known_keys
from catalog.errors import CatalogError
from catalog.limits import refused
from catalog.schema.campaign import Campaign
from catalog.yaml_nodes import Document, Location, Value

_SHOWN = 10
_WIDTH = 60
_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text (in quotes if it looks like a number)",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` for the nearest known word, or those that hold it, else all."""
    words = sorted(known)
    lowered = {name.lower(): name for name in words}
    longer = [name for name in lowered if len(word) > 2 and name.startswith(word.lower())]
    part = _bare(word)
    near = (
        longer[:1]
        or difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
        or [name for name in lowered if len(part) > 1 and part in _bare(name)]
    )
    if len(near) == 1:
        return f"Did you mean {lowered[near[0]]!r}?"
    if near:
        return f"Did you mean one of {_listed([lowered[name] for name in near])}?"
    return f"Known: {_listed(words)}" if words else "None is known here"


def _bare(name: str) -> str:
    """Letters and digits alone, since names differ most in what stands between them."""
    return "".join(filter(str.isalnum, name.lower()))


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:_SHOWN]) + (", …" if len(words) > _SHOWN else "")


def complaint(
    document: Document,
    error: ValidationError,
    model_type: type[BaseModel],
    prefix: Location = (),
) -> CatalogError:
    """All of a file's faults in one error: the first in full, the others a line each.

    ``prefix`` is where in the document the validated part begins.
    """
    places: dict[tuple[str | int, ...], ErrorDetails] = {}
    for details in error.errors(include_url=False):
        steps = _steps(document.value, (*prefix, *details["loc"]))
        places.setdefault(steps, details)
    faults = [
        _Fault(document.line(steps), *_sentences(steps, details, model_type, len(prefix)))
        for steps, details in places.items()
    ]
    first, *others = sorted(faults, key=lambda fault: fault.line)
    lines = [f"\n{document.path}:{fault.line}: {fault.seen}. {fault.do}" for fault in others]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"\n… and {len(lines) - _SHOWN} more"]
    return CatalogError(document.where(first.line), first.seen, first.do + "".join(lines))


@dataclass(frozen=True, slots=True)
class _Fault:
    line: int
    seen: str
    do: str


def _steps(value: Value, location: Location) -> tuple[str | int, ...]:
    """``location`` without the marks that pydantic adds for unions, keys and validators."""
    steps: list[str | int] = []
    here = value
    for index, step in enumerate(location):
        if isinstance(here, dict) and step in here:
            here = here[str(step)]
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
        elif not (isinstance(here, dict) and _is_absent_key(step, index, location)):
            continue
        steps.append(step)
    return tuple(steps)


def _is_absent_key(step: str | int, index: int, location: Location) -> bool:
    """A key that the file should have: the last step, and no mark of pydantic's own."""
    return index == len(location) - 1 and isinstance(step, str) and step.isidentifier()


def _sentences(
    steps: Location, details: ErrorDetails, model_type: type[BaseModel], skipped: int
) -> tuple[str, str]:
    """What was seen at a field, and what to do about it."""
    kind, name, seen = details["type"], _name(steps), _shortened(details["input"])
    if kind == "extra_forbidden":
        return _unknown_key(steps, details, model_type, skipped)
    if kind == "missing":
        return f"key {steps[-1]!r} is missing{_inside(steps)}", "Add it"
    if kind == "value_error":
        return _split(name, str(details["ctx"]["error"]))
    if kind in ("literal_error", "enum"):
        return _choice(steps, details)
    if kind in _EXPECTED:
        return f"{name}: {seen} is not {_EXPECTED[kind]}", f"Write {_EXPECTED[kind]}"
    return f"{name}: {seen} does not fit", details["msg"]


def _unknown_key(
    steps: Location, details: ErrorDetails, model_type: type[BaseModel], skipped: int
) -> tuple[str, str]:
    """What is out of scope is refused by its name, other keys get the nearest known one."""
    key = str(steps[-1])
    limit = refused(key, details["input"]) if model_type is Campaign else None
    if limit is not None:
        seen, do = limit
        return f"key {key!r}{_inside(steps)}: {seen}", do
    known = known_keys(model_type, steps[skipped:-1])
    return f"unknown key {key!r}{_inside(steps)}", did_you_mean(key, known)


def _choice(steps: Location, details: ErrorDetails) -> tuple[str, str]:
    allowed = _quoted(details["ctx"].get("expected", ""))
    if details["loc"][-1] == "[key]":
        key = str(steps[-1])
        return f"unknown key {key!r}{_inside(steps)}", did_you_mean(key, allowed)
    choices = ", ".join(allowed)
    near = did_you_mean(str(details["input"]), allowed)
    hint = near if near.startswith("Did") else f"Use one of {choices}"
    return f"{_name(steps)}: {_shortened(details['input'])} is not one of {choices}", hint


def _quoted(expected: str) -> list[str]:
    """Words of pydantic's ``'a', 'b' or 'c'``; numbers stand there without quotes."""
    return [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]


def _split(name: str, message: str) -> tuple[str, str]:
    """A validator's ``seen; what to do`` apart."""
    seen, _, do = message.partition("; ")
    advice = do[:1].upper() + do[1:] if do else "Correct it"
    return (f"{name}: {seen}" if name else seen), advice


def _name(steps: Location) -> str:
    """``candidates[0].offer``."""
    text = ""
    for step in steps:
        dot = "." if text else ""
        text += f"[{step}]" if isinstance(step, int) else f"{dot}{step}"
    return text


def _inside(steps: Location) -> str:
    parent = _name(steps[:-1])
    return f" in {parent}" if parent else ""


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
