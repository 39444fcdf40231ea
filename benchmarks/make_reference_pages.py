"""Write the reference pages from the code: ``python benchmarks/make_reference_pages.py``.

A test compares the pages with what is made here.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from catalog.json_schema import json_schema
from flows.cli import verb_module, verbs
from flows.errors import MEANINGS, ExitCode, RunoffError

PLACE: Final = Path(__file__).parents[1] / "docs" / "reference"
_MADE: Final = (
    "<!-- made by benchmarks/make_reference_pages.py: change the code, then run it -->"
)
_TYPES: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "",
}
_FIRST: Final = "Campaign"
_LONG: Final = 60  # characters; a default that is longer is told key by key
_CODES: Final = re.compile(r"\b(?:exit )?code\b|\bexit\b|\b[Ee]nds with\b", re.IGNORECASE)


def pages() -> dict[Path, str]:
    """Every generated page: its place and its text."""
    return {
        PLACE / "campaign-fields.md": campaign_fields(),
        PLACE / "exit-codes.md": exit_codes(),
    }


def campaign_fields() -> str:
    """All keys of a campaign file, section by section."""
    schema = json_schema("campaign")
    parts = {_FIRST: schema, **_in_order(schema)}
    lines = [
        "# Every key of a campaign file",
        "",
        _MADE,
        "",
        "What the keys are for, with examples: [campaign-file.md](../campaign-file.md).",
        "The same as JSON Schema for an editor: `runoff catalog schema campaign`.",
        "A default of – is none; quantities are written with their unit, as in the examples.",
    ]
    paths = dict(_paths(schema, _FIRST, ""))
    for name, part in parts.items():
        path = paths.get(name, "")
        lines += ["", f"## {f'`{path}`' if path else 'Top level'}", ""]
        lines += ["| key | kind | default | meaning |", "|---|---|---|---|"]
        lines += list(_rows(part))
    return "\n".join(lines) + "\n"


def exit_codes() -> str:
    """All exit codes, which error leads to which, and what each verb says of its own."""
    lines = [
        "# Exit codes",
        "",
        _MADE,
        "",
        "The same for every command, so that a CI job can act on them.",
        "",
        "| code | name | meaning |",
        "|---|---|---|",
        *(f"| {code.value} | {code.name} | {MEANINGS[code]} |" for code in ExitCode),
        "",
        "## Errors",
        "",
        "An error says where, what was seen, and what to do; its kind decides the code.",
        "",
        "| error | code | when |",
        "|---|---|---|",
        *(
            f"| `{kind.__name__}` | {kind.exit_code.value} | {_first_line(kind)} |"
            for kind in _kinds(RunoffError)
        ),
        "",
        "## Verbs",
        "",
        "What the commands say of their codes themselves; `runoff VERB --help` shows the rest.",
        "",
        "| command | codes |",
        "|---|---|",
    ]
    for verb, module in verbs().items():
        said = _said_of_codes(verb_module(module))
        if said:
            lines.append(f"| `runoff {verb}` | {said} |")
    return "\n".join(lines) + "\n"


def _in_order(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The nested parts as they come up in the file, not by name."""
    return {name: schema["$defs"][name] for name, _ in _paths(schema, _FIRST, "")}


def _paths(schema: Mapping[str, Any], name: str, path: str) -> Iterator[tuple[str, str]]:
    part = schema if name == _FIRST else schema["$defs"][name]
    for key, about in part["properties"].items():
        many = "[]" if "items" in about else ""
        place = f"{path}.{key}{many}" if path else f"{key}{many}"
        for target in _references(about):
            yield target, place
            yield from _paths(schema, target, place)


def _references(about: Mapping[str, Any]) -> list[str]:
    return re.findall(r"#/\$defs/(\w+)", json.dumps({**about, "default": None}))


def _rows(part: Mapping[str, Any]) -> Iterator[str]:
    required = part.get("required", [])
    for key, about in part["properties"].items():
        default = "required" if key in required else _default(about)
        yield f"| `{key}` | {_kind(about)} | {default} | {about.get('description', '–')} |"


def _default(about: Mapping[str, Any]) -> str:
    value = about.get("default")
    if value in (None, [], {}):
        return "–"
    text = value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    return "see below" if isinstance(value, dict) or len(text) > _LONG else f"`{text}`"


def _kind(about: Mapping[str, Any]) -> str:
    """What may be written, in words."""
    if "anyOf" in about:
        kinds = dict.fromkeys(_kind(each) for each in about["anyOf"])
        return " or ".join(kind for kind in kinds if kind)
    if "const" in about or "enum" in about:
        return ", ".join(f"`{each}`" for each in about.get("enum", [about.get("const")]))
    if "examples" in about:
        return "as " + ", ".join(f"`{each}`" for each in about["examples"])
    kind = about.get("type")
    words = {
        None: "keys, see below",
        "array": f"list: {_kind(about.get('items', {}))}" if kind == "array" else "",
        "object": "keys and values",
    }
    return words[kind] if kind in words else f"{_TYPES[kind]}{_range(about)}"


def _range(about: Mapping[str, Any]) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    limits = [f"{word} {about[name]:g}" for name, word in words.items() if name in about]
    return f", {', '.join(limits)}" if limits else ""


def _kinds(kind: type[RunoffError]) -> Iterator[type[RunoffError]]:
    for each in kind.__subclasses__():
        if each.__module__ == kind.__module__:
            yield each
            yield from _kinds(each)


def _first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").split("\n")[0].rstrip(".")


def _said_of_codes(module: Any) -> str:
    """The sentences of a command's help that speak of how it ends."""
    help_text = inspect.getdoc(getattr(module, "command", None)) or ""
    text = " ".join(help_text.split())
    sentences = re.split(r"(?<=[.])\s+(?=[A-Z])", text)
    return " ".join(
        each for each in sentences if _CODES.search(each) and re.search(r"\d", each)
    )


if __name__ == "__main__":
    for place, content in pages().items():
        place.write_text(content, encoding="utf-8")
