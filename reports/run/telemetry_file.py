"""``<replication>.telemetry.parquet``: a machine's samples beside one replication.

One row per sample and source: ``device`` rows are an accelerator's, ``host`` rows the
processors'. Counters (energy, ticks, faults, pages, ECC) count since some start of their own:
only differences mean something. What a driver does not tell is null. The schema's metadata
holds ``runoff.telemetry`` (the format's version) and ``runoff.facts``: the anchor of the
clock, the windows by name, the interval and what the sampling cost.

Format history:
1  first version: the columns of ``COLUMNS``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from reports.errors import RecordsError
from reports.records import Anchor

FORMAT: Final = 1
COLUMNS: Final[Mapping[str, pa.DataType]] = {
    "at_ns": pa.int64(),
    "source": pa.string(),
    "device": pa.int16(),
    "graphics_mhz": pa.float32(),
    "memory_mhz": pa.float32(),
    "power_w": pa.float32(),
    "energy_mj": pa.int64(),
    "temperature_c": pa.float32(),
    "memory_temperature_c": pa.float32(),
    "utilisation_percent": pa.float32(),
    "memory_used_mib": pa.float64(),
    "reasons": pa.int64(),
    "pcie_gen": pa.int8(),
    "pcie_width": pa.int8(),
    "ecc_corrected": pa.int64(),
    "ecc_uncorrected": pa.int64(),
    "used_ticks": pa.int64(),
    "steal_ticks": pa.int64(),
    "all_ticks": pa.int64(),
    "major_faults": pa.int64(),
    "swapped_in_pages": pa.int64(),
    "cpu_mhz": pa.float32(),
    "cpu_mhz_low": pa.float32(),
    "cpu_mhz_high": pa.float32(),
}
_VERSION_KEY, _FACTS_KEY = b"runoff.telemetry", b"runoff.facts"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Samples in order of time, and the windows (from, to) on their monotonic clock in ns.

    ``share_of_core`` is what the sampling used of one core, None where it was cut off.
    """

    rows: tuple[Row, ...]
    anchor: Anchor
    every_s: float
    tool: str | None = None
    windows: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    share_of_core: float | None = None


def write_telemetry(path: Path, told: Telemetry) -> None:
    """Write the samples to ``path``, atomically; raises RecordsError."""
    facts = {
        "anchor": {
            "monotonic_ns": told.anchor.monotonic_ns,
            "unix_ns": told.anchor.unix_ns,
        },
        "every_s": told.every_s,
        "tool": told.tool,
        "windows": told.windows,
        "share_of_core": told.share_of_core,
    }
    columns = {
        name: pa.array([_cast(row.get(name), kind) for row in told.rows], type=kind)
        for name, kind in COLUMNS.items()
    }
    table = pa.table(columns).replace_schema_metadata(
        {_VERSION_KEY: str(FORMAT).encode(), _FACTS_KEY: json.dumps(facts).encode()}
    )
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        raise RecordsError(
            str(path), f"cannot be written: {error.strerror}", "Choose another place."
        ) from error
    finally:
        aside.unlink(missing_ok=True)


def read_telemetry(path: Path) -> Telemetry:
    """The samples of a file of this version; raises RecordsError."""
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (OSError, pa.ArrowInvalid) as error:
        raise RecordsError(
            str(path), f"cannot be read: {error}", "Restore the file."
        ) from error
    metadata = table.schema.metadata or {}
    version = metadata.get(_VERSION_KEY, b"").decode()
    if version != str(FORMAT):
        seen = f"telemetry of version {version}" if version else "no telemetry"
        raise RecordsError(str(path), f"it holds {seen}", "Update runoff, or restore the file.")
    facts = json.loads(metadata[_FACTS_KEY])
    known = [name for name in table.column_names if name in COLUMNS]
    return Telemetry(
        rows=tuple(table.select(known).to_pylist()),
        anchor=Anchor(**facts["anchor"]),
        every_s=facts["every_s"],
        tool=facts["tool"],
        windows={name: (first, last) for name, (first, last) in facts["windows"].items()},
        share_of_core=facts["share_of_core"],
    )


def _cast(value: Any, kind: pa.DataType) -> Any:
    """A printed float where the column holds whole numbers."""
    return int(value) if isinstance(value, float) and pa.types.is_integer(kind) else value
