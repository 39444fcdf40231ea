"""A run concluded and rendered again in memory, and held against its files. Writes nothing."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any, Final

from pydantic import BaseModel

from reports.conclusion import concluded
from reports.errors import ReportsError
from reports.gathered import gathered
from reports.prediction import predictions_of, score_of, scored
from reports.reevaluate.whole import reevaluation_of
from reports.render import made_pages
from reports.run import layout
from reports.run.plan_file import METHOD_VERSION
from reports.run.read import Run, file_text
from reports.summary import summary_of

_CLOSE: Final = 1e-9  # another machine's libraries may differ in a number's last digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file that is not what comes out when it is made again, and where it differs."""

    of: str
    seen: str


def concluded_again(run: Run) -> tuple[Difference, ...] | str:
    """The decision files that the evidence does not give, or why they cannot be made again."""
    version = run.decision.method_version
    if version != METHOD_VERSION:
        return f"decided by version {version} of the method; this runoff has {METHOD_VERSION}"
    files = gathered(run)
    made = concluded(files, summary_of(run, files), concluded_at(run))
    pairs: dict[str, tuple[BaseModel | None, BaseModel | None]] = {
        layout.SUMMARY: (run.summary, made.summary),
        layout.CHECKS: (run.checks, made.checks),
        layout.DECISION: (run.decision, made.decision),
        layout.PREDICTION_SCORE: (
            score_of(run.folder),
            scored(predictions_of(run.folder), made.summary),
        ),
        layout.REEVALUATION: (
            run.reevaluation,
            reevaluation_of(run, made.summary, made.checks, made.decision, concluded_at(run)),
        ),
    }
    return tuple(
        Difference(of=name, seen=f"{place} is not what the evidence gives")
        for name, (there, again) in pairs.items()
        if (place := _first(_plain(there), _plain(again)))
    )


def _plain(file: BaseModel | None) -> Any:
    return None if file is None else json.loads(file_text(file))


def concluded_at(run: Run) -> dt.datetime:
    """When the run was concluded, by its ledger; else when it was planned."""
    times = [str(line.get("at")) for line in run.ledger if line.get("event") == "concluded"]
    try:
        return dt.datetime.fromisoformat(times[-1] if times else run.plan.created_at)
    except ValueError:
        raise ReportsError(
            str(run.folder.file(layout.LEDGER)), "it has no time of the run", "Restore the file"
        ) from None


def rendered_again(run: Run, *, version: str) -> tuple[Difference, ...] | str:
    """The pages that are not what this runoff makes of the run, or why that says nothing."""
    made = made_pages(run.folder)
    there = {name: text for name in made if (text := _page(run, name)) is not None}
    if not there:
        return "the run has no pages"
    differing = [name for name, text in there.items() if text != made[name].encode()]
    if differing and run.plan.runoff_version != version:
        return f"made by runoff {run.plan.runoff_version}; this is {version}"
    return tuple(
        Difference(of=name, seen="it is not what the run gives: render the report again")
        for name in differing
    )


def _page(run: Run, name: str) -> bytes | None:
    path = run.folder.file(name)
    return path.read_bytes() if path.is_file() else None


def _first(there: Any, again: Any, place: str = "") -> str:
    """The place of the first difference of two JSON values; empty where they are the same."""
    if _is_real(there) and _is_real(again):
        return "" if isclose(there, again, rel_tol=_CLOSE, abs_tol=0.0) else place
    if isinstance(there, Mapping) and isinstance(again, Mapping):
        return next(filter(None, _in_objects(there, again, place)), "")
    if isinstance(there, list) and isinstance(again, list) and len(there) == len(again):
        pairs = enumerate(zip(there, again, strict=True))
        found = (_first(a, b, f"{place}[{index}]") for index, (a, b) in pairs)
        return next(filter(None, found), "")
    return "" if there == again else place or "it"


def _in_objects(
    there: Mapping[str, Any], again: Mapping[str, Any], place: str
) -> Iterator[str]:
    before = f"{place}." if place else ""
    for name in sorted({*there, *again}):
        if name not in there or name not in again:
            yield f"{before}{name}"
        else:
            yield _first(there[name], again[name], f"{before}{name}")


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
