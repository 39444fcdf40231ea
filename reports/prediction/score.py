"""Predictions held against what was measured after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from reports.metric_names import metric_name
from reports.run.prediction_file import (
    CandidatePrediction,
    LoadPrediction,
    PredictionFile,
    Range,
    Stage,
)
from reports.run.prediction_score_file import FigureScore, FigureTotal, PredictionScore
from reports.run.summary_file import CellSummary, ReplicationSummary, Summary

GOODPUT: Final = "goodput"


def scored(files: Sequence[PredictionFile], summary: Summary) -> PredictionScore | None:
    """How far each predicted figure is from its measurement; None without predictions.

    A prediction from a first launch is held against the later ones alone.
    """
    if not files:
        return None
    cells = tuple(_cells(files, summary))
    found = tuple(score for cell in cells for score in _cell(*cell))
    return PredictionScore(
        figures=found,
        totals=tuple(_totals(found)),
        unknown=_unknown(files),
        unscored=tuple(line for cell in cells for line in _unscored(*cell)),
    )


def _cells(
    files: Sequence[PredictionFile], summary: Summary
) -> Iterator[tuple[Stage, CandidatePrediction, LoadPrediction, Sequence[ReplicationSummary]]]:
    """Each predicted load with the launches that were measured after its prediction."""
    for file in files:
        for candidate in file.candidates:
            measured = summary.candidate(candidate.candidate)
            for load in candidate.loads if measured is not None else ():
                cell = measured.cell(load.load_point) if measured is not None else None
                if cell is not None:
                    yield file.stage, candidate, load, _later(file.stage, cell)


def _later(stage: Stage, cell: CellSummary) -> tuple[ReplicationSummary, ...]:
    return tuple(
        each for each in cell.replications if stage == "before" or each.replication > 0
    )


def _cell(
    stage: Stage,
    candidate: CandidatePrediction,
    load: LoadPrediction,
    later: Sequence[ReplicationSummary],
) -> Iterator[FigureScore]:
    for name, expected in sorted(load.figures.items()):
        values = _values(later, name)
        if not values:
            continue
        value = float(median(values))
        error = _error(name, expected, value)
        if error is None:
            continue
        yield FigureScore(
            stage=stage,
            candidate=candidate.candidate,
            load_point=load.load_point,
            figure=name,
            unit=expected.unit,
            p10=expected.p10,
            p50=expected.p50,
            p90=expected.p90,
            measured=value,
            error=error,
            inside=expected.p10 <= value <= expected.p90,
        )


def _unscored(
    stage: Stage,
    candidate: CandidatePrediction,
    load: LoadPrediction,
    later: Sequence[ReplicationSummary],
) -> Iterator[str]:
    """Launches that a score is silent about: leaving them out unsaid would flatter it."""
    for missing in range(len(later), 0, -1):
        names = [
            metric_name(name)
            for name in sorted(load.figures)
            if len(later) - len(_values(later, name)) == missing
        ]
        if names:
            yield (
                f"{candidate.candidate} at {load.load_point} ({stage.replace('-', ' ')}):"
                f" {', '.join(names)} of {missing} of {len(later)} launches"
            )


def _values(later: Sequence[ReplicationSummary], name: str) -> list[float]:
    return [
        value
        for each in later
        if _is_evidence(each) and (value := _figure(each, name)) is not None
    ]


def _is_evidence(replication: ReplicationSummary) -> bool:
    """Whether the cell shows the server: trends and caps do, a slow client does not."""
    return replication.verdict not in ("client-bound", "invalid")


def _figure(replication: ReplicationSummary, name: str) -> float | None:
    if name != GOODPUT:
        return replication.figures.get(name)
    clause = replication.document.get("clauses", {}).get(GOODPUT, {})
    value = clause.get("value")
    return float(value) if value is not None else None


def _error(name: str, expected: Range, value: float) -> float | None:
    """Predicted less measured, as a share of what was measured; None of nothing."""
    if name == GOODPUT:
        return expected.p50 - value
    return expected.p50 / value - 1 if value else None


def _totals(found: Sequence[FigureScore]) -> Iterator[FigureTotal]:
    keys = dict.fromkeys((each.stage, each.figure) for each in found)
    for stage, figure in keys:
        own = [each for each in found if (each.stage, each.figure) == (stage, figure)]
        sizes = [abs(each.error) for each in own]
        yield FigureTotal(
            stage=stage,
            figure=figure,
            cells=len(own),
            median_error=median(sizes),
            largest_error=max(sizes),
            bias=median(each.error for each in own),
            inside=sum(each.inside for each in own) / len(own),
        )


def _unknown(files: Sequence[PredictionFile]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            f"{of} ({file.stage.replace('-', ' ')}): {why}"
            for file in files
            for each in file.candidates
            for of, why in (
                (each.candidate, each.unknown),
                *((f"{each.candidate} at {e.load_point}", e.unknown) for e in each.loads),
            )
            if why is not None
        )
    )
