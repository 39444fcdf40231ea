"""When a campaign predicts: before its first step, after first launches, during a search."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from catalog.entries import Catalog
from catalog.facts import Facts
from catalog.predict import Interval
from catalog.resolve import resolve
from catalog.schema import Campaign, Runtime
from flows.matrix import closed_point, poisson_point
from flows.predicting import (
    Cell,
    Known,
    earlier_cells,
    foreseen,
    held_rate,
    known_of,
    rows_of_records,
)
from flows.run_plan import make_run_plan
from flows.underway import Underway, utc_now
from reports.run import layout
from reports.run.plan_file import RunPlan
from reports.run.prediction_file import CandidatePrediction, PredictionFile
from reports.run.read import file_text, read_file

_FIRST: Final = 0


def knowns_of(
    campaign: Campaign, catalog: Catalog, runtimes: Mapping[str, Runtime], plan: RunPlan
) -> dict[str, Known]:
    """What is known of every measured candidate; ``campaign`` is as its file states it.

    Of a rehearsal it is what its engines take their times from: the catalog's entries alone.
    """
    today = dt.date.fromisoformat(plan.created_at[:10])
    known = catalog.without_measured() if plan.rehearsal else catalog
    facts = Facts.of(campaign, known, runtimes, today)
    return {
        each.name: known_of(
            campaign.contract,
            plan.candidate(each.name),
            resolve(facts, each),
            rehearsal=plan.rehearsal and each.runtime != "rehearsal",
            cap=campaign.matrix.max_in_flight,
        )
        for each in campaign.candidates
        if plan.candidate(each.name).measured
    }


def asked_plan(
    campaign: Campaign,
    text: bytes,
    catalog: Catalog,
    folders: Sequence[Path],
    *,
    now: dt.datetime,
    rehearsal: bool = False,
    only: Sequence[str] = (),
    rates: Sequence[float] = (),
    streams: Sequence[int] = (),
) -> RunPlan:
    """The campaign's plan with further loads, for whoever asks without starting anything."""
    plan = make_run_plan(
        campaign,
        text,
        catalog,
        folders,
        now=now,
        run="predicted",
        rehearsal=rehearsal,
        only=only,
        include_unlikely=True,
        include_unknown=True,
    )
    if rehearsal:
        from flows.rehearsing import shortened  # noqa: PLC0415 - engines are imported there

        plan = shortened(plan)
    cap = campaign.matrix.max_in_flight
    further = [*map(closed_point, streams), *(poisson_point(rate, cap) for rate in rates)]
    points = {each.name: each for each in (*plan.matrix.load_points, *further)}
    matrix = plan.matrix.model_copy(update={"load_points": tuple(points.values())})
    return plan.model_copy(update={"matrix": matrix})


def prediction_of(
    root: Path, plan: RunPlan, knowns: Mapping[str, Known], *, with_rates: bool
) -> PredictionFile:
    """What is expected of each cell of a plan, from the paper and from earlier runs.

    ``with_rates``: and the highest rate of each candidate that should hold the contract.
    """

    def one(name: str, known: Known) -> CandidatePrediction:
        earlier = earlier_cells(root, plan, plan.candidate(name), known)
        return foreseen(
            plan,
            name,
            known,
            plan.matrix.load_points,
            earlier.cells,
            with_rate=with_rates,
            void=earlier.void,
        )

    return _file("before", [one(name, known) for name, known in knowns.items()])


def learn_from_first_launch(work: Underway, candidate: str) -> None:
    """Write what the first launch's cells make expected of the later ones, once.

    What is measured already is no longer predicted: nothing is written after the second
    launch has begun.
    """
    known = work.known.get(candidate)
    path = work.store.folder.prediction(candidate)
    visits = [each for each in work.plan.order if each.candidate == candidate]
    later = [each for each in visits if each.replication > _FIRST]
    if known is None or path.exists() or not later:
        return
    if any(set(work.points(each)) - set(work.missing(each)) for each in later):
        return
    first = next(each for each in visits if each.replication == _FIRST)
    points = [work.point(candidate, name) for name in work.points(first)]
    cells = []
    for point in points:
        records = work.store.folder.replication(work.cell(first, point.name), _FIRST, "parquet")
        if records.is_file() and (rows := rows_of_records(records, known)):
            where = str(records.relative_to(work.store.folder.path))
            cells.append(Cell(records=where, rows=rows))
    if cells:
        found = foreseen(work.plan, candidate, known, points, cells)
        name = str(path.relative_to(work.store.folder.path))
        work.store.write(name, file_text(_file("after-first-launch", [found])))


def expected_rate(
    work: Underway, candidate: str, guess_per_s: float, records: Sequence[str]
) -> Interval | None:
    """The highest rate that should hold, from the cells that a search has measured so far."""
    known = work.known.get(candidate)
    if known is None:
        return None
    cells = [
        Cell(records=name, rows=rows_of_records(work.store.folder.path / name, known))
        for name in records
    ]
    return held_rate(work.plan, candidate, known, guess_per_s, cells)


def most_promising_first(work: Underway, candidates: Sequence[str]) -> tuple[str, ...]:
    """Candidates by the highest rate that was predicted to hold, those without one last.

    So much is known of the best ones when a budget ends a campaign.
    """
    path = work.store.folder.file(layout.PREDICTION)
    if not path.is_file():
        return tuple(candidates)
    rates = {
        each.candidate: each.held_rate.p50
        for each in read_file(path, PredictionFile).candidates
        if each.held_rate is not None
    }
    return tuple(sorted(candidates, key=lambda name: -rates.get(name, 0.0)))


def _file(stage: str, candidates: Sequence[CandidatePrediction]) -> PredictionFile:
    return PredictionFile.model_validate(
        {
            "stage": stage,
            "made_at": utc_now().isoformat(timespec="seconds"),
            "candidates": tuple(candidates),
        }
    )


def write_prediction(work: Underway, root: Path) -> None:
    """Freeze what is expected before the first step; a run that was begun keeps its own.

    Of what is measured already nothing is predicted.
    """
    folder = work.store.folder
    is_begun = any(folder.path.glob("cells/*/*.cell.json")) or (folder.path / "search").exists()
    if not folder.file(layout.PREDICTION).exists() and not is_begun:
        rates = work.plan.matrix.search_rates
        found = prediction_of(root, work.plan, work.known, with_rates=rates)
        work.store.write(layout.PREDICTION, file_text(found))
