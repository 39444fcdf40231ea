"""Every file of a run directory, read as what it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from catalog.calibration.file import read_calibration
from catalog.errors import CatalogError
from deploy_templates.plan import read_plan as read_launch_plan
from reports.errors import ReportsError
from reports.manifest import sha256_of
from reports.records import read_records
from reports.run import layout
from reports.run.baseline_file import Baseline
from reports.run.cell_file import CellFile
from reports.run.checks_file import Checks
from reports.run.decision_file import Decision
from reports.run.history_file import HistoryFile
from reports.run.host_file import HostFile
from reports.run.layout import CellName, RunFolder
from reports.run.ledger_file import read_ledger
from reports.run.plan_file import RunPlan
from reports.run.prediction_file import PredictionFile
from reports.run.prediction_score_file import PredictionScore
from reports.run.quality_file import QualityFile
from reports.run.read import read_file
from reports.run.reevaluation_file import Reevaluation
from reports.run.search_file import SearchFile
from reports.run.summary_file import Summary

Trouble = tuple[str, str]  # a file's path below the run, and what is wrong with it

_MODELS: Final[dict[str, type[BaseModel]]] = {
    layout.PLAN: RunPlan,
    layout.SUMMARY: Summary,
    layout.CHECKS: Checks,
    layout.DECISION: Decision,
    layout.BASELINE: Baseline,
    layout.REEVALUATION: Reevaluation,
    layout.PREDICTION: PredictionFile,
    layout.PREDICTION_SCORE: PredictionScore,
    layout.HISTORY: HistoryFile,
    "hosts/*/system.json": HostFile,
    "search/*.json": SearchFile,
    "prediction/*.json": PredictionFile,
    "quality/*.json": QualityFile,
    "cells/*/*.cell.json": CellFile,
}
_MUST: Final = (layout.CAMPAIGN, layout.PLAN, layout.LEDGER)


def unreadable(folder: RunFolder) -> Iterator[Trouble]:
    """Every file that is not what its name says, or that every run has and this one lacks."""
    for name in _MUST:
        if not folder.file(name).is_file():
            yield name, "it is not there"
    for pattern, model in _MODELS.items():
        yield from _troubles(folder, pattern, partial(read_file, model=model))
    for pattern, read in _READERS.items():
        yield from _troubles(folder, pattern, read)


def broken_cells(folder: RunFolder) -> Iterator[Trouble]:
    """Every replication whose files are not those that its ``cell.json`` was written for."""
    for path in sorted(folder.path.glob("cells/*/*.cell.json")):
        name = str(path.relative_to(folder.path))
        try:
            cell = read_file(path, CellFile)
        except ReportsError:
            continue  # told as unreadable
        place = CellName.of(path.parent.name)
        named = f"{cell.candidate}--{cell.load_point}--{cell.key}/{cell.replication}"
        if place is None or named != f"{place.folder}/{path.name.partition('.')[0]}":
            yield name, f"it is of {named}"
        for file, digest in sorted(cell.files.items()):
            if Path(file).name != file or not (path.parent / file).is_file():
                yield name, f"it was written for {file}, which is not there"
            elif sha256_of(path.parent / file) != digest:
                yield name, f"{file} is not the one that it was written for"


def _troubles(
    folder: RunFolder, pattern: str, read: Callable[[Path], object]
) -> Iterator[Trouble]:
    for path in sorted(folder.path.glob(pattern)):
        try:
            read(path)
        except (CatalogError, ReportsError) as error:
            yield str(path.relative_to(folder.path)), error.seen


def _object(path: Path) -> None:
    try:
        is_object = isinstance(json.loads(path.read_bytes(), parse_constant=_refuse), dict)
    except (OSError, ValueError) as error:
        raise ReportsError(str(path), f"it is no JSON: {error}", "Restore the file") from error
    if not is_object:
        raise ReportsError(str(path), "it is no JSON object", "Restore the file")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _parquet(path: Path) -> None:
    """Records are read whole; of other tables it is enough that they are some."""
    if path.stem.isdecimal():
        read_records(path)
        return
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid) as error:
        seen = str(error).splitlines()[0]
        raise ReportsError(str(path), f"it is no Parquet file: {seen}", "Restore it") from error


def _launch_plan(path: Path) -> None:
    try:
        read_launch_plan(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ReportsError(str(path), f"it cannot be read: {error}", "Restore it") from error


_READERS: Final[dict[str, Callable[[Path], object]]] = {
    layout.LEDGER: read_ledger,
    layout.GATES: _object,
    layout.GATES_CALIBRATED: _object,
    "hosts/*/calibration.json": read_calibration,
    "quality/*.parquet": _parquet,
    "launch/*/*/plan.json": _launch_plan,
    "launch/*/*/launch.json": _object,
    "cells/*/*.client.json": _object,
    "cells/*/*.server.json": _object,
    "cells/*/*.parquet": _parquet,
}
