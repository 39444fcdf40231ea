"""Files of every earlier format are read today; samples are kept as they were written."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import BaseModel

from catalog.calibration.file import CalibrationFile
from reports.errors import ReportsError
from reports.records import read_records
from reports.run.aftermath_file import AftermathFile
from reports.run.baseline_file import Baseline
from reports.run.cell_file import CellFile
from reports.run.checks_file import Checks
from reports.run.control_file import ControlFile
from reports.run.decision_file import Decision
from reports.run.history_file import HistoryFile
from reports.run.host_file import HostFile
from reports.run.manifest_file import Manifest
from reports.run.plan_file import RunPlan
from reports.run.prediction_file import PredictionFile
from reports.run.prediction_score_file import PredictionScore
from reports.run.quality_file import QualityFile
from reports.run.read import read_file
from reports.run.reevaluation_file import Reevaluation
from reports.run.search_file import SearchFile
from reports.run.signoff_file import Signoff
from reports.run.summary_file import Summary
from reports.run.telemetry_file import read_telemetry
from reports.run.upgrade import UPGRADES
from reports.run.whatif_file import WhatIf
from reports.schemas import RESULTS, result_schema

SAMPLES = Path(__file__).parent / "samples"
MODELS: dict[str, type[BaseModel]] = {
    "aftermath": AftermathFile,
    "baseline": Baseline,
    "calibration": CalibrationFile,
    "cell": CellFile,
    "checks": Checks,
    "control": ControlFile,
    "decision": Decision,
    "history": HistoryFile,
    "host": HostFile,
    "manifest": Manifest,
    "plan": RunPlan,
    "prediction": PredictionFile,
    "prediction_score": PredictionScore,
    "quality": QualityFile,
    "reevaluation": Reevaluation,
    "search": SearchFile,
    "signoff": Signoff,
    "summary": Summary,
    "whatif": WhatIf,
}
VERSIONS = sorted(folder.name for folder in SAMPLES.iterdir())


def test_there_is_a_sample_of_every_kind_in_every_version() -> None:
    assert VERSIONS == ["1"]
    for version in VERSIONS:
        names = {path.stem for path in (SAMPLES / version).iterdir()}
        assert names == {*RESULTS, "records", "telemetry"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", RESULTS)
def test_a_sample_of_that_version_is_read_today(version: str, name: str) -> None:
    path = SAMPLES / version / f"{name}.json"

    assert read_file(path, MODELS[name])
    jsonschema.Draft202012Validator(result_schema(name)).validate(json.loads(path.read_text()))


@pytest.mark.parametrize("version", VERSIONS)
def test_telemetry_of_that_version_is_read_today(version: str) -> None:
    told = read_telemetry(SAMPLES / version / "telemetry.parquet")

    assert told.windows == {"measured": (10_000_000_000, 20_000_000_000)}
    assert told.rows[0]["energy_mj"] == 1_000_000


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_that_version_are_read_today(version: str) -> None:
    columns = read_records(SAMPLES / version / "records.parquet").columns

    assert len(columns)
    assert set(columns.outcome) == {"ok"}


class _Third(BaseModel):
    schema_version: int
    metres: float


def test_a_file_two_versions_old_goes_through_both_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {
        1: lambda old: {"centimetres": old["inches"] * 2.54},
        2: lambda old: {"metres": old["centimetres"] / 100},
    }
    monkeypatch.setitem(UPGRADES, _Third, steps)
    path = tmp_path / "length.json"
    path.write_text('{"schema_version": 1, "inches": 100}')

    read = read_file(path, _Third)

    assert (read.schema_version, read.metres) == (3, pytest.approx(2.54))


def test_what_is_no_json_cannot_be_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(UPGRADES, _Third, {1: dict})
    (tmp_path / "length.json").write_text("{")

    with pytest.raises(ReportsError, match="it is no JSON"):
        read_file(tmp_path / "length.json", _Third)


@pytest.mark.parametrize("name", RESULTS)
def test_a_newer_version_is_refused(tmp_path: Path, name: str) -> None:
    plain = json.loads((SAMPLES / "1" / f"{name}.json").read_text()) | {"schema_version": 99}
    (tmp_path / "newer.json").write_text(json.dumps(plain))

    with pytest.raises(ReportsError, match=r"schema_version.*update runoff"):
        read_file(tmp_path / "newer.json", MODELS[name])
