"""Which keys a model accepts at a place inside it: what a misspelt key is compared with."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel


def known_keys(model_type: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Keys of the model that stands at ``location`` below ``model_type``; none elsewhere."""
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
        if get_origin(option) is dict and isinstance(step, str):
            return _model_of(get_args(option)[1])
    return None


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
