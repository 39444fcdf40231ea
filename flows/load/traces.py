"""Recorded traffic: when requests came and how long they were.

Two public shapes are read:

Mooncake (JSON lines)  ``timestamp`` in milliseconds, ``input_length``, ``output_length`` and
                       ``hash_ids``, one per block of 512 prompt tokens; equal ids are equal
                       prefixes. Source: the Mooncake traces of kvcache-ai on GitHub.
Azure LLM (CSV)        ``TIMESTAMP`` as date and time, ``ContextTokens``, ``GeneratedTokens``.
                       Source: AzurePublicDataset, the LLM inference traces of 2023 and 2024.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
_S_PER_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One recorded request; ``at_ns`` counts from the first one of the trace."""

    at_ns: int
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()


def read_trace(path: Path) -> tuple[TraceRow, ...]:
    """The requests of a trace file in order of time.

    Raises
    ------
    ValueError
        With file and line, what was seen there and what the two shapes are.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(file)
    is_json = bool(lines) and lines[0].lstrip().startswith("{")
    rows = sorted(
        _mooncake(path, lines) if is_json else _azure(path, lines), key=lambda row: row.at_ns
    )
    if not rows:
        raise ValueError(f"{path}: no request in it")
    return tuple(replace(row, at_ns=row.at_ns - rows[0].at_ns) for row in rows)


def _mooncake(path: Path, lines: list[str]) -> Iterator[TraceRow]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield TraceRow(
                at_ns=round(float(row["timestamp"]) * _NS_PER_MS),
                prompt_tokens=_tokens(row["input_length"]),
                output_tokens=_tokens(row["output_length"]),
                blocks=tuple(_block(block) for block in row.get("hash_ids") or ()),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(_complaint(path, number, error)) from None


def _azure(path: Path, lines: list[str]) -> Iterator[TraceRow]:
    reader = csv.DictReader(lines)
    missing = [name for name in _AZURE if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(_complaint(path, 1, KeyError(missing[0])))
    for row in reader:
        try:
            yield TraceRow(
                at_ns=_instant_ns(row["TIMESTAMP"]),
                prompt_tokens=_tokens(row["ContextTokens"]),
                output_tokens=_tokens(row["GeneratedTokens"]),
            )
        except (ValueError, TypeError) as error:
            raise ValueError(_complaint(path, reader.line_num, error)) from None


def _instant_ns(text: str) -> int:
    """Nanoseconds since 1970 of a date and time; all digits of the second count."""
    whole, _, rest = text.strip().partition(".")
    zone = rest.lstrip("0123456789")
    digits = rest[: len(rest) - len(zone)]
    moment = datetime.fromisoformat(whole + zone)
    since = moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)
    return (since.days * _S_PER_DAY + since.seconds) * _NS_PER_S + int(digits.ljust(9, "0")[:9])


def _tokens(value: Any) -> int:
    """A length; an empty answer counts as one token, for no server can be asked for none."""
    tokens = int(value)
    if tokens < 0:
        raise ValueError(f"a length of {tokens} tokens")
    return max(tokens, 1)


def _block(value: Any) -> int:
    block = int(value)
    if block < 0:
        raise ValueError(f"a hash id of {block}; they start at 0")
    return block


def _complaint(path: Path, line: int, error: Exception) -> str:
    seen = f"no {error}" if isinstance(error, KeyError) else str(error)
    return (
        f"{path}:{line}: {seen}; a trace is JSON lines with timestamp (ms), input_length and "
        f"output_length, or CSV with {', '.join(_AZURE)}"
    )
