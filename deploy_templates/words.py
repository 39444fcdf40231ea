"""Templates to words, values and scripts: sandboxed, strict, and quoted where a shell reads.

A word of a command line stays one word whatever it holds. In a script every value is quoted
on its way out; a template cannot forget it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError
from jinja2.environment import TemplateExpression
from jinja2.sandbox import ImmutableSandboxedEnvironment

from catalog.errors import CatalogError

Context = Mapping[str, Any]
_EXPRESSION = "= "


class Raw(str):
    """Text that is shell or YAML already: it goes into a script as it is."""

    __slots__ = ()


def word(template: str, context: Context, where: str) -> str:
    """One word of a command line, or one value of the environment."""
    try:
        text: str = _template(template).render(context)
    except TemplateError as error:
        raise _complaint(where, template, error) from None
    return text


def words(templates: Iterable[str], context: Context, where: str) -> tuple[str, ...]:
    """Words of a command line, one of each template."""
    return tuple(word(template, context, where) for template in templates)


def truth(expression: str | None, context: Context, where: str) -> bool:
    """Whether an expression holds; no expression always does."""
    return expression is None or bool(_value(expression, context, where))


def value(entry: object, context: Context, where: str) -> object:
    """A configuration value: what an entry ``= expression`` gives, else the entry itself."""
    if isinstance(entry, str) and entry.startswith(_EXPRESSION):
        return _value(entry.removeprefix(_EXPRESSION), context, where)
    return entry


def script(texts: Mapping[str, str], name: str, context: Context) -> str:
    """A shell script of a template among ``texts``, every value quoted for the shell."""
    return _rendered(_scripts(tuple(texts.items()), shell_quoted), name, context)


def document(texts: Mapping[str, str], name: str, context: Context) -> str:
    """A YAML document of a template among ``texts``, every value a quoted scalar."""
    return _rendered(_scripts(tuple(texts.items()), _yaml_quoted), name, context)


def shell_quoted(seen: object) -> str:
    """The value as one word of a POSIX shell; a sequence as one word each."""
    if isinstance(seen, Raw):
        return str(seen)
    if isinstance(seen, list | tuple):
        return shlex.join(str(item) for item in seen)
    return shlex.quote(str(seen))


def compact(seen: object) -> str:
    """A value as JSON on one line, the same text for the same value."""
    return json.dumps(seen, sort_keys=True, ensure_ascii=False)


def _yaml_quoted(seen: object) -> str:
    return str(seen) if isinstance(seen, Raw) else json.dumps(seen, ensure_ascii=False)


def _value(expression: str, context: Context, where: str) -> object:
    try:
        result: object = _expression(expression)(**context)
    except TemplateError as error:
        raise _complaint(where, expression, error) from None
    if isinstance(result, StrictUndefined):
        raise CatalogError(where, f"{expression!r} uses a name that does not exist", "Fix it")
    return result


def _rendered(environment: ImmutableSandboxedEnvironment, name: str, context: Context) -> str:
    try:
        return environment.get_template(name).render(context)
    except TemplateError as error:
        raise _complaint(name, name, error) from None


@lru_cache(maxsize=1)
def _plain() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
    )


@lru_cache(maxsize=2048)
def _template(text: str) -> Template:
    return _plain().from_string(text)


@lru_cache(maxsize=2048)
def _expression(text: str) -> TemplateExpression:
    return _plain().compile_expression(text, undefined_to_none=False)


@lru_cache(maxsize=32)
def _scripts(
    texts: tuple[tuple[str, str], ...], finalize: Callable[[object], str]
) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=DictLoader(dict(texts)),
        undefined=StrictUndefined,
        autoescape=False,
        finalize=finalize,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _complaint(where: str, template: str, error: TemplateError) -> CatalogError:
    return CatalogError(where, f"{template!r} cannot be rendered: {error.message}", "Fix it")
