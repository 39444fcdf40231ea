"""One candidate's prediction, from what is known of it and the cells that were measured."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.predict import (
    Fitted,
    Interval,
    Load,
    Rows,
    StepTimes,
    capacity,
    fitted,
    predicted,
    rows_of,
)
from flows.matrix import least_requests
from flows.predicting.known import Known
from reports.prediction import seen_of
from reports.records import read_records
from reports.run.plan_file import LoadPoint, RunPlan
from reports.run.prediction_file import (
    CandidatePrediction,
    LoadPrediction,
    Range,
    StepTimesFacts,
)

_MOST_REQUESTS: Final = 800  # of a simulated cell; more only narrow its own noise
_SEARCHED: Final = 200
_UNITS: Final = {"requests_per_s": "/s", "output_tokens_per_s": "tok/s", "goodput": "1"}
_DONE: Final = "requests_per_s"
_NOTHING: Final = "nothing was measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A measured cell as equations, and where its records are."""

    records: str
    rows: tuple[Rows, ...]


def rows_of_records(path: Path, known: Known) -> tuple[Rows, ...]:
    """The equations of one replication's records, by endpoint; none where too few came.

    Raises
    ------
    RecordsError
        Where the file cannot be read.
    """
    columns = read_records(path).columns
    policy = known.question.engine.policy
    found = (rows_of(seen, known.work, policy) for seen in seen_of(columns))
    return tuple(each for each in found if each is not None)


def foreseen(
    plan: RunPlan,
    candidate: str,
    known: Known,
    points: Sequence[LoadPoint],
    cells: Sequence[Cell] = (),
    *,
    with_rate: bool = False,
    void: str | None = None,
) -> CandidatePrediction:
    """What is expected of a candidate at each of these load points.

    ``with_rate``: and the highest rate that should hold the contract. ``void``: which cells
    were measured and are no valid evidence.
    """
    fit = _fit(plan, candidate, known, cells)
    if fit is None:
        why = "; ".join(part for part in (known.why, void or _NOTHING) if part)
        return CandidatePrediction(candidate=candidate, unknown=why)
    loads = tuple(_load(plan, known, fit, point) for point in points)
    highest = _highest(plan, candidate, known, fit, _most_done(loads)) if with_rate else None
    return CandidatePrediction(
        candidate=candidate,
        rests_on=tuple(_rests_on(known, cells, fit)),
        cells=tuple(each.records for each in cells),
        step_times=_facts(fit.best),
        held_rate=None if highest is None else range_of(highest, "/s"),
        loads=loads,
    )


def held_rate(
    plan: RunPlan, candidate: str, known: Known, guess_per_s: float, cells: Sequence[Cell]
) -> Interval | None:
    """The highest rate that is predicted to hold the contract; None where nothing is known."""
    fit = _fit(plan, candidate, known, cells)
    if fit is None or guess_per_s <= 0:
        return None
    return _highest(plan, candidate, known, fit, guess_per_s)


def _highest(
    plan: RunPlan, candidate: str, known: Known, fit: Fitted, guess_per_s: float
) -> Interval | None:
    """None where the contract limits nothing: every rate would hold then."""
    if not known.question.limits.has_any:
        return None
    load = Load(process="poisson", requests=_SEARCHED, warm_up=_SEARCHED // 4, cap=known.cap)
    return capacity(fit, known.question, load, guess_per_s, seed=_seed(plan, candidate))


def _most_done(loads: Sequence[LoadPrediction]) -> float:
    """The most requests per second of any load; 1 where none says so."""
    rates = [each.figures[_DONE].p50 for each in loads if _DONE in each.figures]
    return max(rates, default=1.0)


def _fit(plan: RunPlan, candidate: str, known: Known, cells: Sequence[Cell]) -> Fitted | None:
    rows = [rows for cell in cells for rows in cell.rows]
    if not rows and known.prior is None:
        return None
    return fitted(
        rows,
        known.prior,
        work=known.work,
        floor=known.floor,
        seed=_seed(plan, candidate),
    )


def _seed(plan: RunPlan, *parts: str) -> int:
    return zlib.crc32("/".join((str(plan.matrix.seed), *parts)).encode())


def _load(plan: RunPlan, known: Known, fit: Fitted, point: LoadPoint) -> LoadPrediction:
    found = predicted(fit, known.question, load_of(plan, point), seed=_seed(plan, point.name))
    return LoadPrediction(
        load_point=point.name,
        figures={
            name: range_of(interval, _UNITS.get(name, "ms"))
            for name, interval in found.figures.items()
        },
        unknown=found.unknown,
    )


def load_of(plan: RunPlan, point: LoadPoint) -> Load:
    """A cell of the plan as it is simulated: at most so many requests after a warm-up."""
    streams = point.concurrency or 1
    return Load(
        process=point.process,
        requests=min(_MOST_REQUESTS, least_requests(plan, point)),
        warm_up=min(_MOST_REQUESTS // 4, max(streams, plan.matrix.warmup_requests)),
        streams=streams,
        rate_per_s=point.rate_per_s,
        cap=point.max_in_flight if point.is_open else None,
    )


def range_of(interval: Interval, unit: str) -> Range:
    """The interval as it stands in a file."""
    return Range(p10=interval.p10, p50=interval.p50, p90=interval.p90, unit=unit)


def _facts(times: StepTimes) -> StepTimesFacts:
    return StepTimesFacts(
        constant_ms=times.constant * 1e3,
        per_sequence_ms=times.per_sequence * 1e3,
        per_kv_ms=times.per_kv * 1e3,
        prefill_ms=times.prefill * 1e3,
        per_flop_ms=times.per_flop * 1e3,
        is_physical=times.work.is_physical,
    )


def _rests_on(known: Known, cells: Sequence[Cell], fit: Fitted) -> Iterator[str]:
    if fit.cells:
        word = "cell" if len(cells) == 1 else "cells"
        spread = f", which differ from the model by {fit.spread:.0%}" if fit.spread else ""
        yield f"{len(cells)} measured {word}{spread}"
    if known.prior is not None:
        yield from (f"prior of {each}" for each in known.prior.rests_on)
