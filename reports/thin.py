"""The few columns of a replication's requests that figures draw, read without the rest.

A file of a million requests with a hundred gaps each is hundreds of megabytes; what a figure
needs of it is eight integers a request.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reports.columns import NULL, Flags, Ints, Reals, since_ms
from reports.errors import RecordsError

_TIMES: Final = ("scheduled_ns", "sent_ns", "first_token_ns", "done_ns")
_NAMES: Final = (*_TIMES, "output_tokens", "phase", "outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thin:
    """Requests of one replication in the order of their schedule, in seconds from the first.

    Milliseconds are NaN where undefined. ``measured`` and ``ok`` are flags, ``tokens`` the
    server's count (NaN where unknown). ``bands`` are the spans of the phases, by name.
    """

    scheduled_s: Reals
    done_s: Reals
    ttft_ms: Reals
    service_ttft_ms: Reals
    lag_ms: Reals
    tokens: Reals
    measured: Flags
    ok: Flags
    bands: dict[str, tuple[float, float]]

    def __len__(self) -> int:
        return len(self.scheduled_s)


def read_thin(path: Path) -> Thin:
    """The thin columns of a records file; raises RecordsError where it cannot be read."""
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(_NAMES))
    except (OSError, pa.ArrowException) as error:
        seen = str(error).splitlines()[0].rstrip(".")
        raise RecordsError(
            str(path), f"cannot be read as records: {seen}", "Restore the file."
        ) from error
    missing = [name for name in _NAMES if name not in table.column_names]
    if missing:
        raise RecordsError(str(path), f"has no column {missing[0]}", "Restore the file.")
    values = {name: _ints(table.column(name)) for name in (*_TIMES, "output_tokens")}
    texts = {name: _is(table.column(name)) for name in ("phase", "outcome")}
    return thin_of(values, texts["phase"], texts["outcome"])


def thin_of(values: dict[str, Ints], phase: Any, outcome: Any) -> Thin:
    """The thin columns of requests given as arrays, unknown times as ``NULL``."""
    due = values["scheduled_ns"]
    known = due != NULL
    order = np.argsort(due[known], kind="stable")
    due, sent, first, done, tokens = (
        values[name][known][order] for name in (*_TIMES, "output_tokens")
    )
    phase, outcome = np.asarray(phase)[known][order], np.asarray(outcome)[known][order]
    start = np.full_like(due, due[0] if len(due) else 0)
    scheduled_s = since_ms(due, start) / 1000
    return Thin(
        scheduled_s=scheduled_s,
        done_s=since_ms(done, start) / 1000,
        ttft_ms=since_ms(first, due),
        service_ttft_ms=since_ms(first, sent),
        lag_ms=since_ms(sent, due),
        tokens=np.where(tokens == NULL, np.nan, tokens.astype(np.float64)),
        measured=phase == "measured",
        ok=outcome == "ok",
        bands=_bands(scheduled_s, phase),
    )


def _bands(scheduled_s: Reals, phase: Any) -> dict[str, tuple[float, float]]:
    found = {}
    for name in dict.fromkeys(phase.tolist()):
        inside = scheduled_s[phase == name]
        found[str(name)] = (float(inside.min()), float(inside.max()))
    return found


def _ints(column: pa.ChunkedArray) -> Ints:
    found: Ints = column.fill_null(NULL).to_numpy().astype(np.int64)
    return found


def _is(column: pa.ChunkedArray) -> Any:
    coded = column.combine_chunks().dictionary_encode()
    texts = np.array([*coded.dictionary.to_pylist(), ""], dtype=object)
    return texts[coded.indices.fill_null(len(texts) - 1).to_numpy()]
