"""A new campaign file from a use case: values, each with its reason as a comment."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog.complaints import did_you_mean
from catalog.errors import CatalogError
from catalog.load import load_file, shipped_catalog
from catalog.schema.workload import Reasoned, Workload

BYTES_PER_TOKEN = 4
_WIDTH = 92
_HEAD = """\
# {title}: a first draft. Each value stands below its reason.
# Replace the guesses by what you know, then ask for the paper verdict:
#     runoff screen {name}.yaml
# Keys and units: docs/campaign-file.md
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLengths:
    """Tokens of a sample prompt and answer, and how they were counted."""

    prompt_tokens: int
    output_tokens: int
    counted: str


def use_cases() -> tuple[str, ...]:
    """Names of the use cases that the catalog ships, found by scanning its folder."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def read_use_case(name: str) -> Workload:
    """The use case of this name.

    Raises
    ------
    CatalogError
        With the nearest known name.
    """
    known = use_cases()
    if name not in known:
        raise CatalogError(
            "--use-case", f"{name!r} is not a use case", did_you_mean(name, known)
        )
    return load_file(_folder() / f"{name}.yaml", Workload)


def tokens_by_rule_of_thumb(text: str) -> int:
    """Estimated tokens: one for each four bytes of UTF-8, at least one.

    English prose has about four characters (bytes) to a token; a Chinese character is three
    bytes and about 0.6 tokens, so the same rule errs on the long side there.
    """
    return max(1, -(-len(text.encode()) // BYTES_PER_TOKEN))


def campaign_text(name: str, workload: Workload, sample: SampleLengths | None = None) -> str:
    """A commented campaign file called ``name``; a sample's lengths replace the use case's."""
    lengths = _lengths(workload, sample)
    return "\n".join(
        [
            _HEAD.format(title=workload.title, name=name) + "schema_version: 1",
            f"name: {name}",
            f"question: {workload.question}",
            "",
            "contract:",
            *_entries({"model": workload.model} | lengths | workload.load, 2),
            *_section("slo", workload.slo, 2),
            "",
            "candidates:",
            *_items(workload.candidates),
            "",
            *_section("matrix", workload.matrix, 0),
            "",
        ]
    )


def _folder() -> Path:
    return shipped_catalog() / "workloads"


def _lengths(workload: Workload, sample: SampleLengths | None) -> dict[str, Reasoned]:
    if sample is None:
        shared = {"cached_prefix_tokens": workload.cached_prefix_tokens}
        stated = {"prompt_tokens": workload.prompt_tokens} | shared
        stated["output_tokens"] = workload.output_tokens
        return {key: value for key, value in stated.items() if value is not None}
    because = f"Your sample, {sample.counted}. One sample is one length; give a distribution."
    return {
        "prompt_tokens": Reasoned(value=sample.prompt_tokens, because=because),
        "output_tokens": Reasoned(
            value=sample.output_tokens, because=f"Your sample, {sample.counted}."
        ),
    }


def _section(key: str, entries: Mapping[str, Reasoned], indent: int) -> list[str]:
    if not entries:
        return []
    return [f"{' ' * indent}{key}:", *_entries(entries, indent + 2)]


def _entries(entries: Mapping[str, Reasoned], indent: int) -> list[str]:
    return [
        line
        for key, entry in entries.items()
        for line in [*_comment(entry, indent), f"{' ' * indent}{key}: {_flow(entry.value)}"]
    ]


def _items(entries: Iterable[Reasoned]) -> list[str]:
    return [
        line for entry in entries for line in [*_comment(entry, 2), f"  - {_flow(entry.value)}"]
    ]


def _comment(entry: Reasoned, indent: int) -> list[str]:
    margin = " " * indent + "# "
    return textwrap.wrap(entry.because, _WIDTH, initial_indent=margin, subsequent_indent=margin)


def _flow(value: object) -> str:
    """The value as YAML writes it on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return str(value)
