"""A run directory as a report's values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from catalog.calibration.file import CalibrationFile, read_calibration
from catalog.errors import CatalogError
from reports.errors import ReportsError
from reports.history.facts import RunFacts
from reports.history.read import concluded_facts
from reports.prediction import predictions_of, score_of
from reports.report import LaunchKey, Report
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.manifest_file import Manifest
from reports.run.read import Run, read_file, read_run
from reports.run.signoff_file import Signoff
from reports.screen_file import read_screen
from reports.thin import Thin, read_thin

LAUNCH = "launch.json"


def read_report(folder: RunFolder, manifest: str) -> Report:
    """Everything that the pages of a run are made from.

    Raises
    ------
    ReportsError
        For a folder that holds no concluded run, or a file that cannot be read.
    """
    run = read_run(folder.path)
    again = read_screen(folder.file(layout.GATES_CALIBRATED))
    return Report(
        plan=run.plan,
        summary=run.summary,
        decision=run.decision,
        checks=run.checks,
        manifest=manifest,
        hosts=run.hosts,
        controls=run.controls,
        searches=dict(run.searches),
        predictions=predictions_of(folder),
        prediction_score=score_of(folder),
        screen=again or read_screen(folder.file(layout.GATES)),
        screen_before=read_screen(folder.file(layout.GATES)) if again is not None else None,
        calibrations=tuple(_calibrations(folder)),
        launches=dict(_launches(folder)),
        thin=dict(_thin(run)),
        signoff=_signoff(folder.file(layout.SIGNOFF)),
        files=_files(folder.file(layout.MANIFEST)),
        baseline=run.baseline,
        reevaluation=run.reevaluation,
        history=_history(run),
    )


def _history(run: Run) -> tuple[RunFacts, ...]:
    if run.history is None:
        return ()
    plan = run.plan
    now = concluded_facts(run.folder.path, plan.run, plan, run.summary, run.decision)
    return (*run.history.runs, now)


def _calibrations(folder: RunFolder) -> Iterator[CalibrationFile]:
    """Of each host that was calibrated; hosts of one machine share theirs."""
    seen = set()
    for path in sorted((folder.path / "hosts").glob(f"*/{layout.CALIBRATION}")):
        file = _calibration(path)
        if file.fingerprint not in seen:
            seen.add(file.fingerprint)
            yield file


def _calibration(path: Path) -> CalibrationFile:
    try:
        return read_calibration(path)
    except CatalogError as error:
        raise ReportsError(error.where, error.seen, "Restore the file") from error


def _launches(folder: RunFolder) -> Iterator[tuple[LaunchKey, Mapping[str, Any]]]:
    for path in sorted((folder.path / "launch").glob(f"*/*/{LAUNCH}")):
        replication = path.parent.name
        if replication.isdecimal():
            yield (path.parent.parent.name, int(replication)), _object(path)


def _thin(run: Run) -> Iterator[tuple[LaunchKey, Thin]]:
    """The decision cells' requests; each file is read once."""
    places = {each.name: each.decision_point for each in run.decision.ranking}
    for measured in run.cells:
        name = measured.name
        point = places.get(name.candidate) or run.plan.matrix.decision_point
        if name.load_point == point and measured.records.is_file():
            key = name.candidate, measured.file.replication
            yield key, read_thin(measured.records)


def _signoff(path: Path) -> Signoff | None:
    return read_file(path, Signoff) if path.is_file() else None


def _files(path: Path) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    return {name: entry.sha256 for name, entry in read_file(path, Manifest).files.items()}


def _object(path: Path) -> Mapping[str, Any]:
    try:
        plain = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ReportsError(str(path), f"cannot be read: {error}", "Restore the file") from error
    if not isinstance(plain, dict):
        raise ReportsError(str(path), "it is no JSON object", "Restore the file")
    return plain
