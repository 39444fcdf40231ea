"""Requests as columns: one numpy array per field, one value per request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]  # `NULL` where unknown
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]  # None where unknown
Reals = NDArray[np.float64]
Flat = NDArray[np.float32]  # values of all requests, one request behind the other

NULL: Final = -(2**63)
RAGGED: Final = {"gap_us": "gap_offsets", "chunk_tokens": "chunk_offsets"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestColumns:
    """The requests of one cell or of many, in one order for all columns.

    Times are monotonic nanoseconds of one clock. `prompt_tokens` and `output_tokens` are
    the server's counts, `output_chunks` the chunks that carried output, `output_tokenized`
    what the caller's tokenizer counted. The values of request i in `gap_us` (microseconds
    between its output chunks) lie from `gap_offsets[i]` to `gap_offsets[i + 1]`, those in
    `chunk_tokens` (tokens of each output chunk, the first included) likewise.
    """

    run: Texts
    cell: Texts
    replication: Ints
    launch: Texts
    shard: Ints
    sequence: Ints
    prompt: Ints
    session: Ints
    turn: Ints
    endpoint: Ints
    phase: Texts
    scheduled_ns: Ints
    slot_free_ns: Ints
    sent_ns: Ints
    first_byte_ns: Ints
    first_token_ns: Ints
    first_answer_ns: Ints
    last_token_ns: Ints
    done_ns: Ints
    prompt_tokens_asked: Ints
    prompt_tokens: Ints
    cached_tokens: Ints
    output_tokens_asked: Ints
    output_tokens: Ints
    output_chunks: Ints
    output_tokenized: Ints
    reasoning_tokens: Ints
    chunk_tokens_source: Texts
    finish_reason: Texts
    outcome: Texts
    error: Texts
    http_status: Ints
    reused: Flags
    reconnected: Flags
    gap_us: Flat
    gap_offsets: Ints
    chunk_tokens: Flat
    chunk_offsets: Ints

    def __post_init__(self) -> None:
        for name in ROW_FIELDS:
            if len(getattr(self, name)) != len(self):
                raise ValueError(f"{name} has {len(getattr(self, name))} rows, not {len(self)}")
        for name, offsets_name in RAGGED.items():
            offsets = getattr(self, offsets_name)
            if len(offsets) != len(self) + 1 or offsets[-1] != len(getattr(self, name)):
                raise ValueError(f"{offsets_name} does not fit {name} and {len(self)} rows")

    def __len__(self) -> int:
        return len(self.sequence)

    def where(self, keep: Flags) -> RequestColumns:
        """Return the requests whose flag is set, in their order; views where they adjoin."""
        kept = np.flatnonzero(keep)
        if len(kept) and kept[-1] - kept[0] + 1 == len(kept):
            return self._between(int(kept[0]), int(kept[-1]) + 1)
        values: dict[str, Any] = {name: getattr(self, name)[keep] for name in ROW_FIELDS}
        for name, offsets_name in RAGGED.items():
            counts = np.diff(getattr(self, offsets_name))
            values[name] = getattr(self, name)[np.repeat(keep, counts)]
            values[offsets_name] = offsets_of(counts[keep])
        return RequestColumns(**values)

    def _between(self, first: int, last: int) -> RequestColumns:
        values: dict[str, Any] = {name: getattr(self, name)[first:last] for name in ROW_FIELDS}
        for name, offsets_name in RAGGED.items():
            offsets = getattr(self, offsets_name)[first : last + 1]
            values[name] = getattr(self, name)[offsets[0] : offsets[-1]]
            values[offsets_name] = offsets - offsets[0]
        return RequestColumns(**values)


FIELD_TYPES: Final = {field.name: str(field.type) for field in fields(RequestColumns)}
ROW_FIELDS: Final = tuple(
    name for name in FIELD_TYPES if name not in {*RAGGED, *RAGGED.values()}
)


def offsets_of(counts: Ints) -> Ints:
    """Return where each request's values begin, and behind them where the last ones end."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def columns_of(
    lists: Mapping[str, Sequence[Any]],
    *,
    run: str,
    cell: str,
    replication: int,
    launch: str | None,
    shard: int,
) -> RequestColumns:
    """Return the columns of one shard's parsed requests; in `lists` None is unknown."""
    count = len(lists["sequence"])
    constant: dict[str, list[Any]] = {
        "run": [run] * count,
        "cell": [cell] * count,
        "replication": [replication] * count,
        "launch": [launch] * count,
        "shard": [shard] * count,
    }
    every: Mapping[str, Sequence[Any]] = {**constant, **lists}
    return RequestColumns(
        **{name: _array(every[name], FIELD_TYPES[name]) for name in FIELD_TYPES}
    )


def _array(values: Sequence[Any], kind: str) -> NDArray[Any]:
    if kind == "Ints":
        if any(value is None for value in values):
            values = [NULL if value is None else value for value in values]
        return np.array(values, dtype=np.int64)
    if kind == "Texts":
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.array(values, dtype=np.bool_ if kind == "Flags" else np.float32)


def concatenated(parts: Iterable[RequestColumns]) -> RequestColumns:
    """Return all requests of several shards, replications or cells, part after part."""
    all_parts = list(parts)
    values: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in all_parts])
        for name in (*ROW_FIELDS, *RAGGED)
    }
    for offsets_name in RAGGED.values():
        counts = [np.diff(getattr(part, offsets_name)) for part in all_parts]
        values[offsets_name] = offsets_of(np.concatenate(counts))
    return RequestColumns(**values)


def since_ms(later_ns: Ints, earlier_ns: Ints) -> Reals:
    """Return milliseconds from the earlier to the later time; NaN where one is unknown."""
    known = (later_ns != NULL) & (earlier_ns != NULL)
    span = np.subtract(later_ns, earlier_ns, where=known, out=np.zeros_like(later_ns))
    return np.where(known, span / 1e6, np.nan)


def known(values: Ints) -> Reals:
    """Return the integers as reals; NaN where unknown."""
    return np.where(values == NULL, np.nan, values.astype(np.float64))
