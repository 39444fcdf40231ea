"""The measures of two runs, with the ratio of B over A."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from reports.run.number import Number
from reports.run.read import Run
from reports.run.summary_file import CellSummary
from reports.stats.compare import ACROSS_MACHINES, Direction, Word, unpaired

_MEASURES: Final[dict[str, Direction]] = {
    "ttft_p95_ms": "lower",
    "tpot_p95_ms": "lower",
    "e2e_p95_ms": "lower",
    "output_tokens_per_s": "higher",
    "compliant_tokens_per_s": "higher",
    "usd_per_1m_compliant": "lower",
}
_OTHER_METHOD: Final = "not comparable: measured by another version of the method"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure of one cell in both runs.

    ``ratio`` is B over A with its two-sided limits from the launches of both, None where
    these do not give one; ``why`` says why.
    """

    candidate: str
    load_point: str
    measure: str
    a: Number | None
    b: Number | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    word: Word | None = None
    why: str = ""


def compared(a: Run, b: Run) -> Iterator[Compared]:
    """Every measure that a cell has in both runs; launches are not paired across runs."""
    is_same = a.summary.method_version == b.summary.method_version
    for candidate in a.summary.candidates:
        other = b.summary.candidate(candidate.name)
        for cell in candidate.cells:
            found = other.cell(cell.load_point) if other is not None else None
            if found is None:
                continue
            for measure in _MEASURES:
                if measure in cell.measures or measure in found.measures:
                    yield _measure(candidate.name, cell, found, measure, is_same=is_same)


def _measure(
    candidate: str, a: CellSummary, b: CellSummary, measure: str, *, is_same: bool
) -> Compared:
    plain = Compared(
        candidate=candidate,
        load_point=a.load_point,
        measure=measure,
        a=a.measures.get(measure),
        b=b.measures.get(measure),
        why=_OTHER_METHOD,
    )
    if not is_same:
        return plain
    found = unpaired(
        _values(b, measure),
        _values(a, measure),
        better=_MEASURES[measure],
        margin=ACROSS_MACHINES,
    )
    return replace(
        plain,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        word=found.word,
        why=found.why or "",
    )


def _values(cell: CellSummary, measure: str) -> tuple[float | None, ...]:
    return tuple(each.figures.get(measure) for each in cell.replications)
