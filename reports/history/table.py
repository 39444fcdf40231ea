"""``history.parquet``: a row per run, candidate, load point and metric; see docs/history.md.

A run without a metric (broken, half, nothing measured) has one row with nulls. Columns carry
their meaning and unit in the field's metadata, the format's version is ``runoff.history`` in
the schema's.

Format history:
1  first version: the columns of ``COLUMNS``; more of them may come.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from reports.history.facts import CandidateFacts, RunFacts
from reports.history.series import Change, Series

FORMAT: Final = 1
VERSION_KEY: Final = b"runoff.history"
_TEXT, _REAL, _WHOLE = pa.string(), pa.float64(), pa.int64()
COLUMNS: Final[tuple[tuple[str, pa.DataType, str, str], ...]] = (
    ("path", _TEXT, "", "the run directory, below the searched folder"),
    ("state", _TEXT, "", "concluded, half, broken, newer, foreign or copy"),
    ("why", _TEXT, "", "why it is in that state"),
    ("campaign", _TEXT, "", "the campaign's name"),
    ("run", _TEXT, "", "the run's name"),
    ("at", pa.timestamp("us", tz="UTC"), "UTC", "when the plan was made"),
    ("contract", _TEXT, "", "SHA-256 of the contract"),
    ("method_version", _WHOLE, "", "version of the method: others are not comparable"),
    ("evidence", _TEXT, "", "measured, simulated or imported"),
    ("is_exploratory", pa.bool_(), "", "too few or too short on purpose"),
    ("stamp", _TEXT, "", "how far the run can be trusted"),
    ("outcome", _TEXT, "", "of the decision"),
    ("chosen", _TEXT, "", "whom the evidence or the rule for ties names"),
    ("exit_code", _WHOLE, "", "of the decision"),
    ("valid_until", _TEXT, "", "last day of its signoff; null: not signed, or without a day"),
    ("baseline", _TEXT, "", "the run that it re-evaluates"),
    ("answer", _TEXT, "", "of the re-evaluation"),
    ("manifest_sha256", _TEXT, "", "SHA-256 of manifest.json"),
    ("candidate", _TEXT, "", "the candidate's name"),
    ("standing", _TEXT, "", "the candidate's place in the decision"),
    ("kind", _TEXT, "", "SHA-256 of what the candidate is; others are not comparable"),
    ("fingerprint", _TEXT, "", "of its launches, eight digits each"),
    ("release", _TEXT, "", "runtime and version"),
    ("driver", _TEXT, "", "of its devices"),
    ("price", _TEXT, "", "as planned, with its unit"),
    ("series", _TEXT, "", "the same for points that can be compared"),
    ("load_point", _TEXT, "", "the load"),
    ("is_decision_point", pa.bool_(), "", "the load that the candidate is judged at"),
    ("metric", _TEXT, "", "the measure's name"),
    ("unit", _TEXT, "", "of value, low and high"),
    ("basis", _TEXT, "", "measurement or simulation"),
    ("value", _REAL, "as in the column unit", "median over launches; null: not known"),
    ("low", _REAL, "as in the column unit", "lower limit; null: no such limit"),
    ("high", _REAL, "as in the column unit", "upper limit; null: no such limit"),
    ("level", _REAL, "1", "confidence of the limits"),
    ("is_infinite", pa.bool_(), "", "the median lies among failures, or costs infinitely"),
    ("requests", _WHOLE, "requests", "that the value rests on"),
    ("launches", _WHOLE, "launches", "that the value rests on"),
    ("verdict", _TEXT, "", "of the cell: only valid ones are searched for changes"),
    (
        "change_ratio",
        _REAL,
        "1",
        "new level over old one where it changed; null: none, or infinite",
    ),
    ("change_low", _REAL, "1", "lower limit of the ratio, 95% two-sided"),
    ("change_high", _REAL, "1", "upper limit of the ratio, 95% two-sided"),
    ("change_p", _REAL, "1", "probability of so large a change by chance"),
)


def parquet_bytes(runs: Sequence[RunFacts], series: Sequence[Series]) -> bytes:
    """The table as a file; the same facts give the same bytes."""
    places = dict(_places(series))
    rows = [row for run in sorted(runs, key=lambda r: r.order) for row in _rows(run, places)]
    fields = [
        pa.field(name, kind, metadata={"unit": unit, "description": meaning})
        for name, kind, unit, meaning in COLUMNS
    ]
    table = pa.table(
        {
            field.name: pa.array([row.get(field.name) for row in rows], field.type)
            for field in fields
        },
        schema=pa.schema(fields, metadata={VERSION_KEY: str(FORMAT).encode()}),
    )
    made = io.BytesIO()
    pq.write_table(table, made, compression="zstd")
    return made.getvalue()


_Place = tuple[str, str, str, str]  # a run's path, candidate, load point, metric
_Places = dict[_Place, dict[str, Any]]


def _places(found: Sequence[Series]) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """Of each point the columns that come from its series."""
    for series in found:
        key, told = series.key, {"series": series.key.id[:16]}
        changes = {each.path: _change(each) for each in series.changes or ()}
        for seen in series.seen:
            place = (seen.run.path, key.candidate, key.load_point, key.metric)
            yield place, told | changes.get(seen.run.path, {})


def _rows(run: RunFacts, places: _Places) -> Iterator[dict[str, Any]]:
    told = run.model_dump(exclude={"candidates", "sentence", "signed_by", "has_report"})
    if not run.candidates:
        yield told
    for candidate in run.candidates:
        who = told | _candidate(candidate)
        if not candidate.points:
            yield who
        for point in candidate.points:
            place = (run.path, candidate.name, point.load_point, point.metric)
            yield (
                who
                | point.model_dump(mode="json")
                | {"is_decision_point": point.load_point == candidate.decision_point}
                | places.get(place, {})
            )


def _candidate(facts: CandidateFacts) -> dict[str, Any]:
    return {
        "candidate": facts.name,
        "standing": facts.standing or None,
        "kind": facts.kind,
        "fingerprint": facts.marks.get("launch fingerprint"),
        **{name: facts.marks.get(name) for name in ("release", "driver", "price")},
    }


def _change(found: Change) -> dict[str, Any]:
    return {
        "change_ratio": found.ratio,
        "change_low": found.low,
        "change_high": found.high,
        "change_p": found.p_value,
    }
