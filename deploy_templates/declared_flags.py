"""Flags that a release's source declares, read from its syntax tree; nothing is imported.

Three ways of declaring are understood: ``add_argument`` calls, fields of a class whose every
field is a flag, and fields annotated ``A[type, help or Arg(…)]``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Takes = Literal["value", "nothing", "optional"]
_NO_VALUE = ("store_true", "store_false", "store_const", "help", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag: its names, whether a value follows, its ``--no-`` form, a closed choice.

    ``choices`` is None where the source leaves them open or computes them.
    """

    names: tuple[str, ...]
    takes: Takes
    negative: str | None = None
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the annotation of a field says: its kind and its closed choice."""

    takes: Takes
    is_switch: bool
    choices: tuple[str, ...] | None


class Source:
    """Parsed files of a package, with the classes and literal types that they define."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._trees = [ast.parse(text) for text in texts]
        self._classes: dict[str, ast.ClassDef] = {}
        self._literals: dict[str, ast.expr] = {}
        for node in self._nodes():
            if isinstance(node, ast.ClassDef):
                self._classes.setdefault(node.name, node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._literals.setdefault(node.targets[0].id, node.value)

    def fields(self, name: str) -> Mapping[str, Declared]:
        """Fields of a class and of its bases, as their annotations declare them."""
        found: dict[str, Declared] = {}
        node = self._classes.get(name)
        if node is None:
            return found
        for base in node.bases:
            found |= self.fields(ast.unparse(base).rpartition(".")[2])
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                found[item.target.id] = self._declared(item.annotation)
        return found

    def calls(self) -> Iterator[tuple[ast.Call, Mapping[str, str]]]:
        """Every ``add_argument`` call, with the classes behind its ``get_kwargs`` names."""
        for tree in self._trees:
            kwargs = _kwargs_names(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and _called_name(node) == "add_argument":
                    yield node, kwargs

    def annotated(self) -> Iterator[tuple[str, ast.Subscript]]:
        """Every field annotated ``A[…]``."""
        for node in self._nodes():
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            hint = node.annotation
            if isinstance(hint, ast.Subscript) and ast.unparse(hint.value) == "A":
                yield node.target.id, hint

    def declared(self, annotation: ast.expr) -> Declared:
        """What an annotation says of a flag's value."""
        return self._declared(annotation)

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for tree in self._trees for node in ast.walk(tree))

    def _declared(self, annotation: ast.expr) -> Declared:
        names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
        is_bool = "bool" in names
        choices = None if is_bool else self._choices(annotation)
        takes: Takes = "value"
        if is_bool:
            takes = "optional" if "str" in names else "nothing"
        return Declared(takes=takes, is_switch=is_bool and "str" not in names, choices=choices)

    def _choices(self, node: ast.expr) -> tuple[str, ...] | None:
        """Values of a closed type; None where any other value may stand."""
        if isinstance(node, ast.Constant):
            return () if node.value is None else None
        if isinstance(node, ast.BinOp):
            return self._united((node.left, node.right))
        if isinstance(node, ast.Name):
            known = self._literals.get(node.id)
            return self._choices(known) if isinstance(known, ast.Subscript) else None
        if not isinstance(node, ast.Subscript):
            return None
        outer = ast.unparse(node.value).rpartition(".")[2]
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if outer == "Literal":
            return tuple(str(item.value) for item in inner if isinstance(item, ast.Constant))
        return self._united(inner) if outer in ("Optional", "Union") else None

    def _united(self, nodes: Iterable[ast.expr]) -> tuple[str, ...] | None:
        parts = [self._choices(node) for node in nodes]
        closed = [part for part in parts if part is not None]
        return sum(closed, ()) if len(closed) == len(parts) else None


def called_flags(source: Source) -> Iterator[Flag]:
    """Flags of ``add_argument`` calls."""
    for call, kwargs in source.calls():
        names = tuple(
            str(argument.value)
            for argument in call.args
            if isinstance(argument, ast.Constant) and str(argument.value).startswith("-")
        )
        if names:
            yield _called(source, call, kwargs, names)


def field_flags(source: Source, class_name: str) -> Iterator[Flag]:
    """Flags of a class whose every field is one."""
    for name, declared in source.fields(class_name).items():
        yield _flag((_spelt(name),), declared)


def annotated_flags(source: Source) -> Iterator[Flag]:
    """Flags of fields annotated ``A[type, help or Arg(…)]``."""
    for name, hint in source.annotated():
        parts = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        helps = [part for part in parts[1:] if isinstance(part, ast.Constant)]
        arguments = [
            part
            for part in parts[1:]
            if isinstance(part, ast.Call) and ast.unparse(part.func) == "Arg"
        ]
        if not helps and not arguments:
            continue
        given = {key.arg: key.value for key in arguments[0].keywords} if arguments else {}
        if "no_cli" in given:
            continue
        spelt = _texts(given.get("cli_name")) or (_spelt(name),)
        declared = source.declared(parts[0])
        takes: Takes = "nothing" if declared.is_switch else declared.takes
        if "nargs" in given and "?" in _texts(given["nargs"]):
            takes = "optional"
        yield Flag(
            names=(*spelt, *_texts(given.get("aliases"))),
            takes=takes,
            choices=_texts(given.get("choices")) or declared.choices,
        )


def _called(
    source: Source, call: ast.Call, kwargs: Mapping[str, str], names: tuple[str, ...]
) -> Flag:
    given = {key.arg: key.value for key in call.keywords if key.arg is not None}
    for subscript in _spread(call):
        owner = kwargs.get(ast.unparse(subscript.value), "")
        field = _texts(subscript.slice)
        declared = source.fields(owner).get(field[0]) if field else None
        if declared is not None:
            return _flag(names, declared)
    action = ast.unparse(given["action"]) if "action" in given else ""
    if "BooleanOptionalAction" in action:
        return _flag(names, Declared(takes="nothing", is_switch=True, choices=None))
    is_switch = action.strip("'\"") in _NO_VALUE or "StoreTrue" in action
    takes: Takes = "nothing" if is_switch else "value"
    if "?" in _texts(given.get("nargs")):
        takes = "optional"
    return Flag(names=names, takes=takes, choices=_texts(given.get("choices")) or None)


def _flag(names: tuple[str, ...], declared: Declared) -> Flag:
    long = next((name for name in names if name.startswith("--")), None)
    return Flag(
        names=names,
        takes=declared.takes,
        negative=f"--no-{long[2:]}" if declared.is_switch and long else None,
        choices=declared.choices or None,
    )


def _spread(call: ast.Call) -> Iterator[ast.Subscript]:
    """``kwargs["field"]`` of ``**kwargs["field"]`` and of ``**{**kwargs["field"], …}``."""
    for key in call.keywords:
        if key.arg is not None:
            continue
        inner = [key.value]
        if isinstance(key.value, ast.Dict):
            pairs = zip(key.value.keys, key.value.values, strict=True)
            inner = [value for name, value in pairs if name is None]
        yield from (node for node in inner if isinstance(node, ast.Subscript))


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _spelt(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _texts(node: ast.expr | None) -> tuple[str, ...]:
    """Text constants of a literal; nothing where the source computes them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, ast.List | ast.Tuple):
        if not all(isinstance(item, ast.Constant) for item in node.elts):
            return ()
        return tuple(str(item.value) for item in node.elts if isinstance(item, ast.Constant))
    return ()


def _kwargs_names(tree: ast.Module) -> dict[str, str]:
    """``name = get_kwargs(Class)`` → the class, for every such line."""
    return {
        node.targets[0].id: ast.unparse(node.value.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith("get_kwargs")
        and node.value.args
    }
