from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from flows.store import Store
from reports.run.cell_file import AskedCell, AskedSlo, CellFile
from reports.run.layout import CellName

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def cell() -> CellName:
    return CellName(candidate="A--x", load_point="closed-4", key="0123abcd")


@pytest.fixture
def cell_file(cell: CellName) -> CellFile:
    return CellFile(
        run="r",
        candidate=cell.candidate,
        load_point=cell.load_point,
        key=cell.key,
        replication=0,
        launch="l0",
        host="local",
        load_host="local",
        position=0,
        seed=1,
        basis="simulation",
        started_at=NOW.isoformat(),
        ended_at=NOW.isoformat(),
        asked=AskedCell(slo=AskedSlo(), arrival="closed", concurrency=4),
        files={},
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.create(tmp_path / "runs", "demo", "r1", now=lambda: NOW)
    made.write("plan.json", "{}\n")
    return made
