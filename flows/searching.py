"""The search for a candidate's highest rate, in a launch of its own before all others.

What it finds proves nothing: its files lie apart from the cells, and the rates at its ends are
measured anew in every later launch.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from catalog.predict import Interval
from flows.foretelling import expected_rate
from flows.matrix import closed_point
from flows.matrix.amounts import SEARCH
from flows.measure import measure_into
from flows.predicting.foresight import range_of
from flows.search import ended, search_point
from flows.serving import Serving
from flows.underway import SEARCH_LAUNCH, Underway
from reports.run.plan_file import LoadPoint, Visit
from reports.run.read import file_text
from reports.run.search_file import Try

_FOLDER: Final = "search"

TryVerdict = Literal["holds", "misses", "inconclusive", "no valid evidence"]


def search_visit(work: Underway, candidate: str) -> Visit:
    """The launch that a search has for itself."""
    host = work.facts(candidate).host
    return Visit(host=host, replication=SEARCH_LAUNCH, candidate=candidate, load_points=())


def begin_search(work: Underway, candidate: str) -> None:
    """Remove what a search that was cut off has left."""
    shutil.rmtree(work.store.folder.path / _FOLDER / candidate, ignore_errors=True)
    work.progress.state(candidate, "search for the highest rate")


def guess(work: Underway, serving: Serving, candidate: str) -> float | None:
    """Requests per second that a closed loop gets done; None where none came through."""
    _, document = _tried(work, serving, candidate, _closed(work))
    found: float | None = document["requests_per_s"]
    return found or None


def expect(
    work: Underway, candidate: str, guess_per_s: float, tries: Sequence[Try]
) -> Interval | None:
    """The highest rate that should hold by all that the search has measured; None unknown."""
    closed = _records(candidate, _closed(work))
    measured = [closed, *(each.records for each in tries)]
    return expected_rate(work, candidate, guess_per_s, measured)


def try_rate(
    work: Underway,
    serving: Serving,
    candidate: str,
    rate_per_s: float,
    expected: Interval | None = None,
) -> Try:
    """One searched rate with what its cell said, and what was expected before it."""
    point = search_point(rate_per_s, work.campaign.matrix.max_in_flight)
    records, document = _tried(work, serving, candidate, point)
    work.progress.said(f"{candidate}: {rate_per_s:g}/s {verdict_of(document)}")
    return Try(
        rate_per_s=rate_per_s,
        predicted=None if expected is None else range_of(expected, "/s"),
        verdict=verdict_of(document),
        records=records,
    )


def end_search(work: Underway, candidate: str, tries: list[Try]) -> tuple[str, ...]:
    """Write the search down; the load points that are to be proven after it."""
    found = ended(candidate, tries, max_in_flight=work.campaign.matrix.max_in_flight)
    work.store.write(f"{_FOLDER}/{candidate}.json", file_text(found))
    proof = tuple(point.name for point in found.proof)
    work.progress.more_cells(len(proof) * work.plan.matrix.replications)
    return proof


def verdict_of(document: Mapping[str, Any]) -> TryVerdict:
    """What one cell says of a rate: every clause must hold, one that misses decides."""
    if document["verdict"] != "valid":
        return "no valid evidence"
    found = {each["verdict"] for each in document["clauses"].values()} - {"no such clause"}
    if "misses" in found:
        return "misses"
    return "holds" if found == {"holds"} else "inconclusive"


def _tried(
    work: Underway, serving: Serving, candidate: str, point: LoadPoint
) -> tuple[str, Mapping[str, Any]]:
    """A cell's records, relative to the run, and its summary."""
    work.interruption.check()
    work.afford(f"{point.name} of {candidate}", work.paper_s(candidate, point))
    visit = search_visit(work, candidate).model_copy(update={"replication": 0})
    folder = work.store.folder.path / _FOLDER / candidate / point.name
    measured = measure_into(work, serving, visit, point, folder)
    work.record_spent()
    return _records(candidate, point), measured.document


def _closed(work: Underway) -> LoadPoint:
    """The closed loop from which a search begins."""
    streams = work.plan.contract.concurrency or max(work.campaign.matrix.concurrency)
    closed = closed_point(streams)
    return closed.model_copy(update={"name": f"{SEARCH}{closed.name}"})


def _records(candidate: str, point: LoadPoint) -> str:
    return f"{_FOLDER}/{candidate}/{point.name}/0.parquet"
