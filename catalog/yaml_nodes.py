"""YAML text to plain values, strictly, with the line of every node kept for complaints.

Only ``null`` (or nothing), ``true``, ``false`` and plain decimal numbers are special; all
else is text, so ``no``, ``16:30``, ``1e3`` and ``2026-08-22`` never turn into other values.
Keys are text and may not repeat. Size, depth and the number of nodes (aliases expanded) are
bounded before they cost time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml import cyaml

from catalog.errors import CatalogError

MAXIMUM_BYTES = 256 * 1024
MAXIMUM_NODES = 50_000
MAXIMUM_DEPTH = 40
_NUMBER_START = frozenset("-0123456789")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,30}\Z")
_DIGITS = re.compile(r"-?[0-9]{19,}(?:\.[0-9]*)?\Z")
_WORDS = {"": None, "null": None, "true": True, "false": False}

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
Location = Sequence[str | int]


class _Composer(cyaml.CParser):  # type: ignore[name-defined,misc]  # untyped in its stubs
    """libyaml's parser without YAML 1.1's guesses: a plain scalar has the empty tag."""

    def resolve(self, _kind: type, _value: str, _implicit: object) -> str:
        return ""

    def descend_resolver(self, _parent: object, _index: object) -> None:
        """No resolver looks at paths here."""

    def ascend_resolver(self) -> None:
        """No resolver looks at paths here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file's content as plain values, and the nodes that know their lines."""

    path: Path
    root: yaml.Node
    value: dict[str, Value]

    def line(self, location: Location) -> int:
        """Line, from 1, of the key or item at ``location``, or of its nearest parent."""
        return _line(self.root, location)

    def where(self, location: Location | int) -> str:
        """``file:line`` of a location, or of a line that is known already."""
        line = location if isinstance(location, int) else self.line(location)
        return place(self.path, line)

    def section(self, key: str) -> Document:
        """The mapping under one top-level key, as a document of its own.

        Raises
        ------
        CatalogError
            If the key is absent or is not a mapping.
        """
        value = self.value.get(key)
        if not isinstance(value, dict):
            raise CatalogError(
                self.where([key]),
                f"{key!r} is not a mapping",
                f"Write {key}: with its keys below",
            )
        node = next(item for name, item in self.root.value if name.value == key)
        return Document(path=self.path, root=node, value=value)


def place(path: Path, line: int) -> str:
    """``file:line`` as editors and terminals open it; ``line`` counts from 1."""
    return f"{path}:{line}"


def read_document(path: Path) -> Document:
    """The mapping that a YAML file holds.

    Raises
    ------
    CatalogError
        With file and line, what was seen and what to do.
    """
    root = _compose(path, read_text(path))
    if root is None:
        raise CatalogError(place(path, 1), "the file is empty", "Write its keys, or remove it")
    value = _Values(path).of(root)
    if not isinstance(value, dict):
        raise CatalogError(
            place(path, root.start_mark.line + 1),
            f"the file holds a {_kind(root)} at its top",
            "Write keys with values (key: value) instead",
        )
    return Document(path=path, root=root, value=value)


def read_text(path: Path, maximum_bytes: int = MAXIMUM_BYTES) -> str:
    """The file's text, at most ``maximum_bytes`` long and in UTF-8."""
    try:
        with path.open("rb") as file:
            content = file.read(maximum_bytes + 1)
    except FileNotFoundError:
        raise CatalogError(str(path), "there is no such file", "Check the path") from None
    except IsADirectoryError:
        raise CatalogError(
            str(path), "this is a folder, not a file", "Name a file inside it"
        ) from None
    except PermissionError:
        raise CatalogError(
            str(path), "the file may not be read", "Give yourself read permission (chmod u+r)"
        ) from None
    except OSError as error:
        raise CatalogError(
            str(path), f"the file cannot be read ({error.strerror})", "Check the path"
        ) from None
    if len(content) > maximum_bytes:
        raise CatalogError(
            str(path),
            f"the file is larger than {maximum_bytes // 1024} KiB",
            "Is it the right file? Split it if it is",
        )
    return _decoded(path, content)


def _decoded(path: Path, content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CatalogError(place(path, 1), "the text is in UTF-16", "Save it as UTF-8")
    if b"\x00" in content:
        raise CatalogError(str(path), "this is a binary file, not YAML", "Name a text file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        seen = f"byte 0x{content[error.start]:02x} is not UTF-8 text"
        raise CatalogError(place(path, line), seen, "Save the file as UTF-8") from None


def _compose(path: Path, text: str) -> yaml.Node | None:
    try:
        root: yaml.Node | None = _Composer(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.encode().count(b"\n", 0, error.position) + 1
        character = (
            chr(error.character) if isinstance(error.character, int) else error.character
        )
        seen = f"character {character!r} is not allowed in YAML"
        raise CatalogError(place(path, line), seen, "Remove it") from None
    except yaml.MarkedYAMLError as error:
        raise _syntax(path, text, error) from None
    return root


def _syntax(path: Path, text: str, error: yaml.MarkedYAMLError) -> CatalogError:
    """A syntax error in the words of someone who has the file open."""
    problem = error.problem or "the YAML cannot be read"
    lines = text.split("\n")
    last = len(lines) - 1 - text.endswith("\n")
    line = min(error.problem_mark.line, max(last, 0)) if error.problem_mark else 0
    indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
    if "\t" in indent:
        return CatalogError(
            place(path, line + 1), "a tab is used for indentation", "Indent with spaces"
        )
    if "another document" in problem:
        return CatalogError(
            place(path, line + 1), "a second document starts here", "Keep one per file"
        )
    if "nesting depth" in problem:
        return _too_deep(path, line)
    began = error.context_mark.line if error.context_mark else line
    since = f" (begun in line {began + 1})" if began != line else ""
    context = f" {error.context}{since}," if error.context else ""
    return CatalogError(
        place(path, line + 1),
        f"YAML syntax:{context} {problem}",
        "Check quotes, colons and indentation here and in the line above",
    )


def _too_deep(path: Path, line: int) -> CatalogError:
    return CatalogError(
        place(path, line + 1),
        f"values are nested deeper than {MAXIMUM_DEPTH} levels",
        "Flatten them; an alias inside its own anchor never ends",
    )


class _Values:
    """Plain values of a node tree, with a budget that aliases cannot multiply past."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MAXIMUM_NODES

    def of(self, node: yaml.Node, depth: int = 0) -> Value:
        self._left -= 1
        if self._left < 0:
            raise self._error(
                node,
                f"the file expands to more than {MAXIMUM_NODES} values",
                "Use fewer aliases",
            )
        if depth > MAXIMUM_DEPTH:
            raise _too_deep(self._path, node.start_mark.line)
        if node.tag:
            raise self._error(
                node, f"tag {node.tag!r} is not used here", "Remove the tag; values are plain"
            )
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.of(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: yaml.Node, depth: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for key, item in node.value:
            name = self._key(key)
            if name in values:
                raise self._repeated(node, key)
            values[name] = self.of(item, depth + 1)
        return values

    def _key(self, key: yaml.Node) -> str:
        if not isinstance(key, yaml.ScalarNode) or key.tag:
            raise self._error(key, f"a {_kind(key)} is used as a key", "Use text as the key")
        if key.value == "<<" and not key.style:
            raise self._error(key, "merge keys (<<) are not supported", "Write the keys out")
        return str(key.value)

    def _scalar(self, node: yaml.ScalarNode) -> Value:
        text: str = node.value
        if node.style:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in _NUMBER_START:
            return text
        if _WHOLE.match(text):
            return int(text)
        if _DECIMAL.match(text):
            return float(text)
        if _DIGITS.match(text):
            raise self._error(
                node, f"a number of {len(text)} digits is too large", "Use at most 18 digits"
            )
        return text

    def _repeated(self, node: yaml.Node, key: yaml.Node) -> CatalogError:
        first = next(other for other, _ in node.value if other.value == key.value)
        return self._error(
            key,
            f"key {key.value!r} stands here again (first in line {first.start_mark.line + 1})",
            "Keep one of them",
        )

    def _error(self, node: yaml.Node, seen: str, do: str) -> CatalogError:
        return CatalogError(place(self._path, node.start_mark.line + 1), seen, do)


def _line(node: yaml.Node, location: Location) -> int:
    """Line, from 1, of the deepest node on the way along ``location`` that exists."""
    line: int = node.start_mark.line
    for step in location:
        found = _child(node, step)
        if found is None:
            break
        marked, node = found
        line = marked.start_mark.line
    return line + 1


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """The node that marks a step's line (a mapping's key, an item itself), and the value."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, item) for key, item in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "mapping"
    return "list" if isinstance(node, yaml.SequenceNode) else "single value"
