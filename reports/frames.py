"""A run's records and results as pandas DataFrames; each column's name ends in its unit.

Unknown is NaN or <NA>, never 0. The frames need pandas, so nothing else imports this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from reports.cell.latency import latencies, output_tokens
from reports.columns import NULL, RequestColumns
from reports.records import read_records
from reports.run.number import Number
from reports.run.plan_file import CandidateFacts
from reports.run.read import Measured, Run
from reports.run.summary_file import CellSummary

_TEXTS: Final = ("launch", "phase", "outcome", "error", "finish_reason", "chunk_tokens_source")
_COUNTS: Final = (
    "shard", "sequence", "prompt", "session", "turn", "endpoint", "http_status",
    "prompt_tokens_asked", "prompt_tokens", "cached_tokens", "output_tokens_asked",
    "output_tokens", "output_chunks", "output_tokenized", "reasoning_tokens",
)  # fmt: skip
_TIMES: Final = (
    "scheduled_ns", "slot_free_ns", "sent_ns", "first_byte_ns", "first_token_ns",
    "first_answer_ns", "last_token_ns", "done_ns",
)  # fmt: skip
NAMES: Final = ("requests", "cells", "candidates")
_UNITED: Final = {
    "achieved_rate": "achieved_rate_per_s",
    "in_flight_mean": "in_flight_requests",
}


def request_frame(run: Run) -> pd.DataFrame:
    """One row per request of every complete replication, warm-up and drain included.

    Times ``*_s`` are seconds since the replication's first request was due; latencies are in
    milliseconds (``ttft_ms`` from the scheduled time, ``service_ttft_ms`` from the send).
    """
    parts = [_requests(measured) for measured in run.cells]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _requests(measured: Measured) -> pd.DataFrame:
    columns = read_records(measured.records).columns
    length = len(columns)
    values: dict[str, Any] = {
        "candidate": pd.Categorical([measured.name.candidate] * length),
        "load_point": pd.Categorical([measured.name.load_point] * length),
        "replication": np.full(length, measured.file.replication),
    }
    for name in _TEXTS:
        values[name] = pd.Categorical(getattr(columns, name))
    for name in _COUNTS:
        values[name] = _whole(getattr(columns, name))
    values |= {"reused": columns.reused, "reconnected": columns.reconnected}
    values["output_tokens_used"] = output_tokens(columns)
    values |= dict(_times(columns))
    found = latencies(columns)
    values |= {f"{name}_ms": getattr(found, name) for name in found.__slots__}
    return pd.DataFrame(values)


def _whole(values: np.ndarray[Any, Any]) -> pd.arrays.IntegerArray:
    unknown = values == NULL
    return pd.arrays.IntegerArray(np.where(unknown, 0, values), unknown)


def _times(columns: RequestColumns) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    due = columns.scheduled_ns[columns.scheduled_ns != NULL]
    start = int(due.min()) if len(due) else 0
    for name in _TIMES:
        values = getattr(columns, name)
        seconds = np.where(values == NULL, np.nan, (values - start) / 1e9)
        yield f"{name.removesuffix('_ns')}_s", seconds


def cell_frame(run: Run) -> pd.DataFrame:
    """One row per cell: its verdict, counts, and each measure with its interval and basis."""
    return pd.DataFrame(
        [
            _cell_row(candidate.name, cell)
            for candidate in run.summary.candidates
            for cell in candidate.cells
        ]
    )


def _cell_row(candidate: str, cell: CellSummary) -> dict[str, Any]:
    row: dict[str, Any] = {
        "candidate": candidate,
        "load_point": cell.load_point,
        "basis": cell.basis.value,
        "verdict": cell.verdict,
        "problems": "; ".join(cell.problems),
        "replications": len(cell.replications),
        **{f"requests_{name}": count for name, count in cell.requests.items()},
    }
    for name, clause in cell.clauses.items():
        row[f"{name}_clause"] = clause.verdict
    for name, number in cell.measures.items():
        row |= _interval(_UNITED.get(name, name), number)
    return row


def candidate_frame(run: Run) -> pd.DataFrame:
    """One row per candidate: what it is, its price, its standing and what decided it."""
    places = {each.name: each for each in run.decision.ranking}
    rows = []
    for facts in run.plan.candidates:
        row = _facts(facts)
        place = places.get(facts.name)
        if place is not None:
            row |= {"rank": place.rank, "standing": place.standing, "why": place.why}
            row |= _interval("usd_per_1m_compliant", place.usd_per_1m)
            row |= _interval(
                "compliant_tok_per_machine_hour", place.compliant_tok_per_machine_hour
            )
            row |= _interval("monthly_usd", place.monthly_usd)
            held = place.held_rate
            row["held_rate_proven_per_s"] = held.highest_proven if held is not None else None
        row["is_chosen"] = facts.name == run.decision.chosen
        rows.append(row)
    return pd.DataFrame(rows).astype({"rank": "Int64"}, errors="ignore")


def _facts(facts: CandidateFacts) -> dict[str, Any]:
    price = facts.price
    return {
        "candidate": facts.name,
        "device": facts.device,
        "device_count": facts.device_count,
        "tensor_parallel": facts.tensor_parallel,
        "runtime": facts.runtime,
        "version": facts.version,
        "precision": facts.precision,
        "price": price.value if price is not None else None,
        "price_unit": price.unit if price is not None else None,
        "price_basis": price.basis.value if price is not None else None,
        "paper_verdict": facts.verdict,
        "measured": facts.measured,
    }


def _interval(name: str, number: Number | None) -> dict[str, Any]:
    if number is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None, f"{name}_basis": None}
    return {
        name: number.value,
        f"{name}_low": number.low,
        f"{name}_high": number.high,
        f"{name}_basis": number.basis.value,
    }


def frames(run: Run) -> Mapping[str, pd.DataFrame]:
    """All frames by name, in the order of ``NAMES``."""
    made = (request_frame(run), cell_frame(run), candidate_frame(run))
    return dict(zip(NAMES, made, strict=True))


def write_csv(run: Run, folder: Path) -> tuple[Path, ...]:
    """Write each frame as ``<name>.csv`` (UTF-8, unknown is empty) and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in frames(run).items():
        path = folder / f"{name}.csv"
        frame.to_csv(path, index=False, lineterminator="\n")
        written.append(path)
    return tuple(written)
