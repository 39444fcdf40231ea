"""Request records: one Parquet file per replication, one row per request.

The schema's metadata holds `runoff.records` (the format's version) and `runoff.anchor`
(one pair of a monotonic and a wall-clock time of the same instant, in nanoseconds).
Unknown is null, never 0: `gap_us` and `chunk_tokens` are null for a request that gave no
output, and `gap_us` is empty for one that gave a single chunk. Columns may be added within
a version; a reader takes those that it knows. Format history:
1  first version: the columns of `reports.columns.RequestColumns`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reports.columns import (
    FIELD_TYPES,
    NULL,
    RAGGED,
    ROW_FIELDS,
    RequestColumns,
    Texts,
    offsets_of,
)
from reports.errors import RecordsError, unwritten

FORMAT: Final = 1

_VERSION_KEY, _ANCHOR_KEY = b"runoff.records", b"runoff.anchor"
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "Ints": pa.int64(),
    "Flags": pa.bool_(),
    "Texts": pa.string(),
    "Flat": pa.large_list(pa.float32()),
}
SCHEMA: Final = pa.schema(
    [(name, _TYPES[FIELD_TYPES[name]]) for name in (*ROW_FIELDS, *RAGGED)]
)
_IDENTITY: Final = ("run", "cell", "replication", "launch")
_ROWS_AT_ONCE: Final = 50_000  # what a reader holds decoded and undecoded at a time
_UPGRADES: dict[int, Callable[[pa.Table], pa.Table]] = {}  # from that version to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The wall clock (Unix time) at one instant of the records' monotonic clock."""

    monotonic_ns: int
    unix_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The requests of one replication and the anchor of their clock."""

    columns: RequestColumns
    anchor: Anchor


def write_records(path: Path, records: Records) -> None:
    """Write the records to `path`, atomically."""
    anchor = {
        "monotonic_ns": records.anchor.monotonic_ns,
        "unix_ns": records.anchor.unix_ns,
    }
    metadata = {_VERSION_KEY: str(FORMAT).encode(), _ANCHOR_KEY: json.dumps(anchor).encode()}
    table = _table(records.columns).replace_schema_metadata(metadata)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            pq.write_table(
                table,
                file,
                compression="zstd",
                row_group_size=_ROWS_AT_ONCE,
                use_dictionary=[name for name, kind in FIELD_TYPES.items() if kind == "Texts"],
                use_byte_stream_split=[f"{name}.list.element" for name in RAGGED],
            )
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        raise unwritten(path, error, RecordsError) from error
    finally:
        aside.unlink(missing_ok=True)


def _table(columns: RequestColumns) -> pa.Table:
    arrays = [_column(getattr(columns, name), FIELD_TYPES[name]) for name in ROW_FIELDS]
    silent = columns.first_token_ns == NULL
    for name, offsets_name in RAGGED.items():
        arrays.append(
            pa.LargeListArray.from_arrays(
                pa.array(getattr(columns, offsets_name)),
                pa.array(getattr(columns, name)),
                mask=pa.array(silent),
            )
        )
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _column(values: np.ndarray[Any, Any], kind: str) -> pa.Array:
    if kind == "Ints":
        return pa.array(values, mask=values == NULL)
    return pa.array(values, type=_TYPES[kind])


def read_records(path: Path) -> Records:
    """Return the records of a file of this version or of an older one.

    Raises
    ------
    RecordsError
        Where the file is no Parquet file, not ours, written by a newer version, or lacks
        a column.
    """
    try:
        with pq.ParquetFile(path) as file:  # read_table() would import pandas first
            table = file.read()
    except (OSError, pa.ArrowInvalid) as error:
        seen = str(error).splitlines()[0].rstrip(".")
        raise RecordsError(
            str(path), f"cannot be read as Parquet: {seen}", "Check that the file is whole."
        ) from error
    version, anchor = _head(path, table)
    table = _upgraded(path, table, version)
    for name in SCHEMA.names:
        if name not in table.column_names:
            raise RecordsError(
                str(path), f"has no column {name}", "Measure again, or restore the file."
            )
    by_name = {name: table.column(name) for name in SCHEMA.names}
    del table  # so that each column is freed once it is converted
    columns = _columns(path, by_name)
    pa.default_memory_pool().release_unused()  # decoding took as much memory as the columns
    return Records(columns=columns, anchor=anchor)


def identities(path: Path) -> Mapping[str, frozenset[object]]:
    """Which runs, cells, replications and launches the requests of a file say they are of.

    Raises
    ------
    RecordsError
        Where the file is no Parquet file, or lacks one of these columns.
    """
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(_IDENTITY))
        return {
            name: frozenset(pc.unique(table.column(name)).to_pylist()) for name in _IDENTITY
        }
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        seen = str(error).splitlines()[0].rstrip(".")
        raise RecordsError(
            str(path), f"cannot be read as records: {seen}", "Check that the file is whole."
        ) from error


def _head(path: Path, table: pa.Table) -> tuple[int, Anchor]:
    metadata: Mapping[bytes, bytes] = table.schema.metadata or {}
    try:
        return int(metadata[_VERSION_KEY]), Anchor(**json.loads(metadata[_ANCHOR_KEY]))
    except (KeyError, TypeError, ValueError) as error:
        raise RecordsError(
            str(path),
            "is a Parquet file, but not one of request records",
            "Files of other tools come in through `runoff import`.",
        ) from error


def _upgraded(path: Path, table: pa.Table, version: int) -> pa.Table:
    if version > FORMAT:
        raise RecordsError(
            str(path),
            f"has records format {version}, this runoff reads up to {FORMAT}",
            "Update runoff.",
        )
    while version < FORMAT:
        table = _UPGRADES[version](table)
        version += 1
    return table


def _columns(path: Path, by_name: dict[str, pa.ChunkedArray]) -> RequestColumns:
    values: dict[str, Any] = {}
    for name, offsets_name in RAGGED.items():
        column = _typed(path, name, by_name.pop(name))
        counts = pc.list_value_length(column).fill_null(0).to_numpy()
        values[offsets_name] = offsets_of(counts)
        values[name] = pc.list_flatten(column).to_numpy()
    for name in ROW_FIELDS:
        column = _typed(path, name, by_name.pop(name))
        if FIELD_TYPES[name] == "Texts":
            values[name] = _texts(column)
        else:
            filled = column.fill_null(NULL) if FIELD_TYPES[name] == "Ints" else column
            values[name] = filled.to_numpy()
    return RequestColumns(**values)


def _typed(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(SCHEMA.field(name).type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise RecordsError(
            str(path), f"has a column {name} of another type: {error}", "Restore the file."
        ) from error


def _texts(column: pa.ChunkedArray) -> Texts:
    """Texts with one Python object per distinct text, not one per row."""
    coded = column.combine_chunks().dictionary_encode()
    texts = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    found: Texts = texts[coded.indices.fill_null(len(texts) - 1).to_numpy()]
    return found
