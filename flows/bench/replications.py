"""Several replications of one cell as one JSON object: medians, spread, and each apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from reports.columns import concatenated
from reports.records import read_records, write_records

_SUMMED: Final = ("requests",)
_SPREAD: Final = ("ttft_ms", "service_ttft_ms", "itl_ms", "tpot_ms", "e2e_ms")
_RATES: Final = ("output_tokens_per_s", "requests_per_s", "achieved_rate")
_WORST_FIRST: Final = ("client-bound", "invalid", "cap-bound", "not-steady", "valid")


def combined(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The object of one replication as it is; of several the same shape over all of them.

    Numbers are medians over the replications (never pooled requests), counts of requests
    are sums, the verdict is the worst. ``replications`` holds each one's own object,
    ``spread`` median, MAD, minimum and maximum.
    """
    if len(documents) == 1:
        return dict(documents[0])
    whole = {key: _middle([document[key] for document in documents]) for key in documents[0]}
    for key in _SUMMED:
        whole[key] = {
            name: sum(document[key][name] for document in documents)
            for name in documents[0][key]
        }
    verdicts = [document["verdict"] for document in documents]
    return {
        **whole,
        "verdict": min(verdicts, key=_WORST_FIRST.index),
        "problems": _every(documents, "problems"),
        "problem_details": _every(documents, "problem_details"),
        "incomplete": any(document["incomplete"] for document in documents),
        "launches": 1,
        "spread": _spreads(documents),
        "replications": list(documents),
    }


def keep_records(paths: Sequence[Path], place: Path) -> None:
    """Put the request records of all replications into one Parquet file."""
    parts = [read_records(path) for path in paths]
    columns = concatenated([part.columns for part in parts])
    write_records(place, replace(parts[0], columns=columns))


def _every(documents: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """All different entries of a list, in the order in which they came up."""
    found: list[Any] = []
    for document in documents:
        found.extend(entry for entry in document[key] if entry not in found)
    return found


def _middle(values: Sequence[Any]) -> Any:
    """Median of numbers, key by key in objects; null where any is; else what all agree on."""
    first = values[0]
    if all(isinstance(value, Mapping) for value in values):
        return {
            key: _middle([value.get(key) for value in values])
            for key in dict.fromkeys(key for value in values for key in value)
        }
    if any(value is None for value in values):
        return None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return median(values)
    return first if all(value == first for value in values) else None


def _spreads(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    latencies = {
        name: {
            percentile: _spread([document[name][percentile] for document in documents])
            for percentile in documents[0][name]
        }
        for name in _SPREAD
    }
    rates = {name: _spread([document[name] for document in documents]) for name in _RATES}
    return {**latencies, **rates}


def _spread(values: Sequence[float | None]) -> dict[str, float] | None:
    """Median, raw median absolute deviation, minimum, maximum; None where one is unknown."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    middle = median(known)
    return {
        "median": middle,
        "mad": median(abs(value - middle) for value in known),
        "min": min(known),
        "max": max(known),
    }
