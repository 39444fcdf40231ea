"""Cells of earlier runs that tell of a candidate: launches alike, on the same host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flows.predicting.foresight import Cell, rows_of_records
from flows.predicting.known import Known
from flows.store.runs import runs_of
from reports.errors import ReportsError
from reports.run import layout
from reports.run.plan_file import CandidateFacts, RunPlan
from reports.run.read import Run, read_run

_RUNS: Final = 3  # the latest that have such cells
_LOOKED_AT: Final = 30
_CELLS: Final = 12
_SHOWS_NOTHING: Final = ("client-bound", "invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What earlier runs measured of a candidate: the cells that tell of it.

    ``void`` says which cells of the latest run that has such are no valid evidence, and why.
    """

    cells: tuple[Cell, ...] = ()
    void: str | None = None


def earlier_cells(
    root: Path, plan: RunPlan, candidate: CandidateFacts, known: Known
) -> Earlier:
    """The latest cells of launches like the candidate's own, on its own host.

    A run that cannot be read says nothing; nor does one that is not concluded.
    """
    if candidate.fingerprint is None:
        return Earlier()
    found: list[Cell] = []
    runs, void = 0, None
    for path in _latest(root):
        if path.name == plan.run or runs == _RUNS or len(found) >= _CELLS:
            continue
        try:
            run = read_run(path)
            verdicts = _verdicts(run, plan, candidate)
            cells = tuple(_cells(run, verdicts, known))
        except ReportsError:
            continue
        runs += bool(cells)
        found.extend(cells)
        void = void or _void(run, verdicts)
    return Earlier(cells=tuple(found[:_CELLS]), void=void)


def _latest(root: Path) -> tuple[Path, ...]:
    """The store's runs, of whatever campaign, the latest first."""
    if not root.is_dir():
        return ()
    every = [path for each in root.iterdir() for path in runs_of(root, each.name)]
    return tuple(sorted(every, key=lambda path: path.name, reverse=True)[:_LOOKED_AT])


_Verdicts = Mapping[tuple[str, str], str]


def _verdicts(run: Run, plan: RunPlan, candidate: CandidateFacts) -> _Verdicts:
    """The verdicts of a run's cells of such launches, by candidate and load point."""
    names = {each.name for each in run.plan.candidates if _is_same(each, candidate)}
    asked = (plan.rehearsal, plan.contract.model)
    if (run.plan.rehearsal, run.plan.contract.model) != asked or not names:
        return {}
    if not run.folder.file(layout.SUMMARY).is_file():
        return {}
    return {
        (each.name, cell.load_point): cell.verdict
        for each in run.summary.candidates
        if each.name in names
        for cell in each.cells
    }


def _void(run: Run, verdicts: _Verdicts) -> str | None:
    """Which of these cells are no valid evidence, and as what; None where all are."""
    found = [f"{point} {why}" for (_, point), why in verdicts.items() if why in _SHOWS_NOTHING]
    if not found:
        return None
    return f"its cells in {run.plan.run} are no valid evidence: {', '.join(found)}"


def _cells(run: Run, verdicts: _Verdicts, known: Known) -> Iterator[Cell]:
    for measured in run.cells:
        key = measured.name.candidate, measured.name.load_point
        if verdicts.get(key, _SHOWS_NOTHING[0]) not in _SHOWS_NOTHING:
            rows = rows_of_records(measured.records, known)
            if rows:
                where = measured.records.relative_to(run.folder.path)
                yield Cell(records=f"{run.plan.run}/{where}", rows=rows)


def _is_same(each: CandidateFacts, other: CandidateFacts) -> bool:
    """Whether two launches are alike: by fingerprint, or by all that is controlled of them.

    A plan that nobody has started does not know where a checkpoint will lie.
    """
    if each.host != other.host:
        return False
    return each.fingerprint == other.fingerprint or _controlled(each) == _controlled(other)


def _controlled(each: CandidateFacts) -> dict[str, Any]:
    launch = each.launch or {}
    controlled: Mapping[str, Mapping[str, Any]] = launch.get("controlled", {})
    return {
        **{name: entry.get("asked") for name, entry in controlled.items()},
        "candidate": each.name,
        "checkpoint": each.checkpoint,
        "devices": [each.device, each.device_count, each.replicas_per_host],
        "precision": [each.precision, each.kv_precision],
        "runtime": [each.runtime, each.version],
    }
