"""Settings as frozen dataclasses: type and range checks, and reading from JSON objects."""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class SettingsError(ValueError):
    """A setting that cannot be run: names the key, what was seen and what is allowed."""


def bounded(default: Any, *, low: float | None = None, high: float | None = None) -> Any:
    """Field of a settings class whose number must lie in [low, high]."""
    return field(default=default, metadata={"low": low, "high": high})


def check(settings: object) -> None:
    """Raise SettingsError unless each field has its declared type and range."""
    for item in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, item.name)
        _check_value(_hints(type(settings))[item.name], value, item.name)
        _check_range(item.metadata, value, item.name)


def from_json(cls: type[T], data: object, where: str = "settings") -> T:
    """Instance of a settings class from a JSON object; unknown keys are refused."""
    if not isinstance(data, Mapping):
        raise SettingsError(f"{where} is {_shown(data)}: needs an object")
    known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise SettingsError(_unknown_key(where, str(key), known))
    hints = _hints(cls)
    values = {key: _convert(hints[key], data[key], f"{where}.{key}") for key in data}
    missing = [f.name for f in fields(cls) if _is_required(f) and f.name not in values]  # type: ignore[arg-type]
    if missing:
        raise SettingsError(f"{where} lacks {', '.join(missing)}")
    try:
        return cls(**values)
    except SettingsError as error:
        raise SettingsError(f"{where}.{error}") from None


def _is_required(item: Any) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _unknown_key(where: str, key: str, known: set[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
    return f"{where} has no key {key!r}: {hint}"


@cache
def _cached_hints(cls: Hashable) -> dict[str, Any]:
    return get_type_hints(cls)


def _hints(cls: Any) -> dict[str, Any]:
    return _cached_hints(cls)


def _convert(hint: Any, value: Any, where: str) -> Any:
    """Return a JSON value as the type that its field declares."""
    for option in _options(hint):
        if is_dataclass(option) and value is not None:
            return from_json(option, value, where)  # type: ignore[arg-type]
        if get_origin(option) is tuple and isinstance(value, (list, tuple)):
            element = get_args(option)[0]
            return tuple(_convert(element, v, f"{where}[{i}]") for i, v in enumerate(value))
        if option is float and type(value) is int:
            return float(value)
    _check_value(hint, value, where)
    return value


def _check_value(hint: Any, value: object, where: str) -> None:
    if not any(_fits(option, value) for option in _options(hint)):
        raise SettingsError(f"{where} is {_shown(value)}: needs {_described(hint)}")


def _fits(option: Any, value: object) -> bool:
    origin = get_origin(option)
    if origin is Literal:
        return value in get_args(option)
    if origin is tuple:
        element = get_args(option)[0]
        return isinstance(value, tuple) and all(_fits(element, v) for v in value)
    if option is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if option is int:
        return type(value) is int
    return isinstance(value, origin or option)


def _options(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, types.UnionType):
        return get_args(hint)
    return (hint,)


def _described(hint: Any) -> str:
    names = {
        int: "a whole number",
        float: "a finite number",
        bool: "true or false",
        str: "text",
        type(None): "null",
    }
    parts = []
    for option in _options(hint):
        if get_origin(option) is Literal:
            parts += [repr(choice) for choice in get_args(option)]
        elif get_origin(option) is tuple:
            parts.append(f"a list, each item {_described(get_args(option)[0])}")
        else:
            parts.append(names.get(option) or "an object")
    return " or ".join(parts)


def _check_range(limits: Mapping[str, float | None], value: object, where: str) -> None:
    low, high = limits.get("low"), limits.get("high")
    if value is None or not isinstance(value, (int, float)):
        return
    if low is not None and value < low:
        raise SettingsError(f"{where} is {value}: needs at least {low}")
    if high is not None and value > high:
        raise SettingsError(f"{where} is {value}: needs at most {high}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
