"""A run directory as values: its plan, its cells, and what has been made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reports.errors import ReportsError
from reports.run import layout
from reports.run.baseline_file import Baseline
from reports.run.cell_file import CellFile
from reports.run.checks_file import Checks
from reports.run.control_file import ControlFile
from reports.run.decision_file import Decision
from reports.run.history_file import HistoryFile
from reports.run.host_file import HostFile
from reports.run.layout import CellName, RunFolder
from reports.run.ledger_file import read_ledger
from reports.run.plan_file import LoadPoint, RunPlan
from reports.run.reevaluation_file import Reevaluation
from reports.run.search_file import SearchFile
from reports.run.summary_file import Summary
from reports.run.upgrade import upgraded

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One complete replication of a cell, and where its files are."""

    name: CellName
    file: CellFile
    records: Path
    client: Path
    server: Path


@dataclass(frozen=True)
class Run:
    """A run directory, read part by part when asked for."""

    folder: RunFolder

    @cached_property
    def plan(self) -> RunPlan:
        """What the campaign set out to do."""
        return read_file(self.folder.file(layout.PLAN), RunPlan)

    @cached_property
    def ledger(self) -> tuple[Mapping[str, Any], ...]:
        """What happened, in order."""
        return read_ledger(self.folder.file(layout.LEDGER))

    @cached_property
    def cells(self) -> tuple[Measured, ...]:
        """Every complete replication, by candidate, load point and replication."""
        found = [
            _measured(self.folder, name, path)
            for folder in sorted((self.folder.path / "cells").glob("*/"))
            if (name := CellName.of(folder.name)) is not None
            for path in sorted(folder.glob("*.cell.json"))
        ]
        return tuple(
            sorted(
                found,
                key=lambda each: (
                    each.name.candidate,
                    each.name.load_point,
                    each.file.replication,
                ),
            )
        )

    @cached_property
    def hosts(self) -> tuple[HostFile, ...]:
        """The machines as they were found."""
        paths = sorted((self.folder.path / "hosts").glob("*/system.json"))
        return tuple(read_file(path, HostFile) for path in paths)

    @cached_property
    def controls(self) -> tuple[ControlFile, ...]:
        """What was asked of the machines' settings, and what became of it."""
        paths = sorted((self.folder.path / "hosts").glob("*/control.json"))
        return tuple(read_file(path, ControlFile) for path in paths)

    @cached_property
    def searches(self) -> Mapping[str, SearchFile]:
        """The rate searches, by candidate."""
        paths = sorted((self.folder.path / "search").glob("*.json"))
        return {each.candidate: each for each in (read_file(p, SearchFile) for p in paths)}

    def load_point(self, candidate: str, name: str) -> LoadPoint:
        """A load point of the plan, or one that the candidate's search has found.

        Raises KeyError.
        """
        found = self.searches.get(candidate)
        for each in found.proof if found is not None else ():
            if each.name == name:
                return each
        return self.plan.load_point(name)

    @cached_property
    def summary(self) -> Summary:
        """What was measured."""
        return read_file(self.folder.file(layout.SUMMARY), Summary)

    @cached_property
    def checks(self) -> Checks:
        """The evidence checks."""
        return read_file(self.folder.file(layout.CHECKS), Checks)

    @cached_property
    def decision(self) -> Decision:
        """Who won, and why."""
        return read_file(self.folder.file(layout.DECISION), Decision)

    @cached_property
    def baseline(self) -> Baseline | None:
        """The run that this one re-evaluates; None where it re-evaluates none."""
        return _optional(self.folder.file(layout.BASELINE), Baseline)

    @cached_property
    def reevaluation(self) -> Reevaluation | None:
        """Whether the baseline's decision still stands."""
        return _optional(self.folder.file(layout.REEVALUATION), Reevaluation)

    @cached_property
    def history(self) -> HistoryFile | None:
        """Comparable earlier runs; None where there were none."""
        return _optional(self.folder.file(layout.HISTORY), HistoryFile)


def read_run(path: Path) -> Run:
    """The run in a folder; raises ReportsError where there is none, or no plan of one."""
    if not path.is_dir():
        do = "Give the directory of a run: runoff history lists those that there are"
        raise ReportsError(str(path), "there is no such directory", do)
    if not (path / layout.PLAN).is_file():
        raise ReportsError(
            str(path), f"it holds no {layout.PLAN}", "Give the directory of a run"
        )
    return Run(RunFolder(path))


def read_file(path: Path, model: type[Model]) -> Model:
    """The file as its model; raises ReportsError with the place of what does not fit."""
    try:
        return model.model_validate_json(upgraded(path.read_bytes(), model))
    except OSError as error:
        raise ReportsError(
            str(path), f"cannot be read: {error.strerror}", "Restore the file"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ReportsError(
            str(path), f"{place}: {first['msg']}", "Restore the file, or update runoff"
        ) from error
    except ValueError as error:
        raise ReportsError(str(path), f"it is no JSON: {error}", "Restore the file") from error


def _optional(path: Path, model: type[Model]) -> Model | None:
    return read_file(path, model) if path.is_file() else None


def file_text(model: BaseModel) -> str:
    """The model as a file: sorted keys, strict JSON, the same bytes every time."""
    plain = model.model_dump(mode="json")
    return (
        json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    )


def _measured(folder: RunFolder, name: CellName, path: Path) -> Measured:
    file = read_file(path, CellFile)
    return Measured(
        name=name,
        file=file,
        records=folder.replication(name, file.replication, "parquet"),
        client=folder.replication(name, file.replication, "client.json"),
        server=folder.replication(name, file.replication, "server.json"),
    )
