"""``runoff predict`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from flows.calibrate.home import keep
from flows.cli import run
from tests.catalog.calibration_files import calibration, cpu_device
from tests.flows.plans import CANONICAL, HERE


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path))


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["predict", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def quick(tmp_path: Path) -> str:
    """The lesson's contract and its B and C at two loads."""
    document = yaml.safe_load(Path(CANONICAL).read_text())
    chosen = [each for each in document["candidates"] if each["name"] in ("B", "D")]
    matrix = {"concurrency": [16], "rates": [], "requests": 200, "replications": 3}
    path = tmp_path / "quick.yaml"
    path.write_text(yaml.safe_dump({**document, "candidates": chosen, "matrix": matrix}))
    return str(path)


def test_each_candidate_and_load_has_intervals_and_what_they_rest_on(quick, capsys) -> None:
    out = told([quick], capsys)

    assert "Highest rate that should hold the contract" in out
    assert "B: prior of bandwidth: 1.55 TB/s (assumption)" in out
    assert "D" not in [line.split()[0] for line in out.splitlines() if "closed-16" in line]
    assert (
        "  D: rejected on paper, p95 ITL ≤ 25 ms: "
        in out.partition("Not measured, so not predicted")[2]
    )


def test_each_figure_has_its_unit_in_the_heading_of_its_column(quick, capsys) -> None:
    out = told([quick], capsys)

    (heading,) = [line for line in out.splitlines() if line.startswith("candidate")]
    assert [part.strip() for part in heading.split("  ") if part.strip()] == [
        *("candidate", "load", "TTFT p95, ms", "TPOT p95, ms", "ITL p95, ms"),
        *("rate, requests/s", "goodput, %"),
    ]
    rates = out.partition("Highest rate that should hold the contract")[2]
    assert " requests/s (" in rates.partition("What that rests on")[0]


def test_a_cap_on_what_is_in_flight_lowers_the_rate_that_should_hold(quick, capsys) -> None:
    def rate():
        (b,) = json.loads(told([quick, "--json"], capsys))["candidates"]
        return b["held_rate"]["p50"]

    free = rate()
    document = yaml.safe_load(Path(quick).read_text())
    document["matrix"]["max_in_flight"] = 1
    Path(quick).write_text(yaml.safe_dump(document))

    assert rate() < free / 2


def test_json_has_every_figure_in_order_above_its_bound_and_as_a_prediction(
    quick, capsys
) -> None:
    found = json.loads(told([quick, "--json", "--concurrency", "2"], capsys))

    (b,) = found["candidates"]
    assert [each["load_point"] for each in b["loads"]] == ["closed-16", "closed-2"]
    for load in b["loads"]:
        for figure in load["figures"].values():
            assert figure["p10"] <= figure["p50"] <= figure["p90"]
            assert figure["basis"] == "prediction"
    figures = b["loads"][0]["figures"]
    assert figures["tpot_p95_ms"]["p10"] > 8.46  # the lesson's bound of B, in ms
    assert figures["ttft_p95_ms"]["p10"] > 46.7


def test_a_candidate_without_facts_is_unknown_and_has_no_number(tmp_path, capsys) -> None:
    path = tmp_path / "here.yaml"
    path.write_text(yaml.safe_dump(HERE))

    found = json.loads(told([str(path), "--json"], capsys))

    for each in found["candidates"]:
        assert "step times are settings; nothing was measured" in each["unknown"]
        assert each["loads"] == []
        assert each["held_rate"] is None
    assert "Unknown" in told([str(path)], capsys)


def test_a_file_without_candidates_is_refused(tmp_path, capsys) -> None:
    path = tmp_path / "none.yaml"
    path.write_text(yaml.safe_dump({**HERE, "candidates": []}))

    assert run(["predict", str(path)]) == 2
    assert "names no candidate" in capsys.readouterr().err


def test_a_stale_calibration_is_told_and_predicts_nothing(tmp_path, capsys) -> None:
    keep(tmp_path / "state", calibration(cpu_device(1e9)))
    stated = yaml.safe_load(Path(CANONICAL).read_text())
    there = {"name": "L", "host": "local", "runtime": "vllm_cpu"}
    (tmp_path / "here.yaml").write_text(yaml.safe_dump({**stated, "candidates": [there]}))

    assert run(["predict", "here.yaml"]) == 0

    said = capsys.readouterr()
    assert "note: the calibration of local (ffffffff)" in said.err
    assert "is stale and not used" in said.err
    assert "L: the device of host 'local'" in said.out
