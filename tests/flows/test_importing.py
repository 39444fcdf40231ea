"""Results of another tool become a run that is compared and reported, and never signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.cli import run as runoff
from reports.interop.vllm_bench import read
from reports.run import layout
from reports.run.read import Run, read_run

CAMPAIGN = """
schema_version: 1
name: theirs
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: 1024
  output_tokens: 32
  concurrency: 4
  slo: {ttft: 1000 ms, itl: 25 ms, goodput: 95%}
candidates:
  - name: B
    device: nvidia-a100-80gb-sxm4
    runtime: vllm
    version: 0.6.3
    assumptions: {price: $3.67/h}
  - name: C
    device: nvidia-h100-80gb-sxm5
    runtime: vllm
    version: 0.6.3
    assumptions: {price: $9.80/h}
"""


def result(itl_ms: float, seed: int, **changes: Any) -> dict[str, Any]:
    """A closed loop of four streams, 240 requests of 32 tokens, as the tool would save it."""
    rng = np.random.default_rng(seed)
    count, streams = 240, 4
    ttfts = 0.2 * rng.lognormal(0, 0.1, count)
    itls = itl_ms / 1e3 * rng.lognormal(0, 0.05, (count, 31))
    spans = ttfts + itls.sum(axis=1)
    free, starts = [100.0] * streams, []
    for span in spans:
        stream = int(np.argmin(free))
        starts.append(free[stream])
        free[stream] += span + 1e-4
    made = {
        "date": "20260822-120000",
        "label": None,
        "model_id": "meta-llama/Meta-Llama-3-8B-Instruct",
        "num_prompts": count,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": streams,
        "completed": count,
        "failed": 0,
        "request_throughput": 1.0,
        "input_lens": [1024] * count,
        "output_lens": [32] * count,
        "ttfts": ttfts.tolist(),
        "itls": itls.tolist(),
        "latencies": spans.tolist(),
        "start_times": starts,
        "queue_times": (np.array(starts) - 100.0).tolist(),
        "errors": [""] * count,
        "mean_ttft_ms": float(ttfts.mean() * 1e3),
    }
    return {**made, **changes}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.yaml").write_text(CAMPAIGN)
    for name, itl_ms in (("b", 15.0), ("c", 8.0)):
        runs = (json.dumps(result(itl_ms, seed)) for seed in range(3))
        (tmp_path / f"{name}.json").write_text("\n".join(runs))
    return tmp_path


def imported(here: Path, *files: str) -> Run:
    assert runoff(["import", *files, "--campaign", "theirs.yaml"]) == 0
    (path,) = (here / "runs" / "theirs").iterdir()
    return read_run(path)


def refusal(capsys: pytest.CaptureFixture[str], *files: str) -> str:
    assert runoff(["import", *files, "--campaign", "theirs.yaml"]) == 2
    return capsys.readouterr().err


def test_their_results_are_judged_by_our_contract_and_stamped(here: Path, capsys) -> None:
    run = imported(here, "B=b.json", "C=c.json")

    assert capsys.readouterr().out.startswith("IMPORTED: ")
    assert run.decision.stamp == "IMPORTED"
    assert run.plan.imported == "vllm-bench"
    assert run.summary.imported
    cell = run.summary.candidate("B").cell("closed-4")
    assert len(cell.replications) == 3
    assert cell.clauses["itl"].verdict == "holds"
    assert cell.measures["tpot_p50_ms"].value == pytest.approx(15.0, rel=0.02)
    assert cell.measures["usd_per_1m_compliant"].value > 0
    assert "IMPORTED" in run.folder.file(layout.REPORT_HTML).read_text()


def test_what_could_not_be_known_stands_among_the_threats(here: Path) -> None:
    threats = imported(here, "B=b.json", "C=c.json").plan.threats

    assert any("client did not measure itself" in threat for threat in threats)


def test_a_client_that_did_not_measure_itself_is_not_called_healthy(here: Path) -> None:
    run = imported(here, "B=b.json", "C=c.json")

    found = {c.verdict for c in run.checks.checks if c.id == "client-health"}
    assert found == {"unknown"}


def test_service_latencies_of_a_capped_rate_decide_nothing(here: Path) -> None:
    text = CAMPAIGN.replace("concurrency: 4", "rate: 2/s\n  concurrency: 4")
    (here / "theirs.yaml").write_text(text)
    starts = np.cumsum(np.random.default_rng(7).exponential(0.5, 240)).tolist()
    capped = result(15.0, 1, request_rate=2.0, start_times=starts, queue_times=None)
    (here / "capped.json").write_text(json.dumps(capped))
    run = imported(here, "B=capped.json")

    cell = run.summary.candidate("B").cell("poisson-2-cap4")
    assert cell.clauses["ttft"].verdict == "inconclusive"
    assert cell.measures["service_ttft_p95_ms"].value > 0
    assert run.decision.chosen is None
    assert any(threat.startswith("service latency only") for threat in run.plan.threats)


def test_an_imported_run_checks_and_is_never_signed(here: Path, capsys) -> None:
    run = imported(here, "B=b.json", "C=c.json")

    runoff(["check", str(run.folder.path), "--json"])
    rows = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))["rows"]
    broken = {"manifest", "files", "cells", "conclusion", "pages"}
    assert [row for row in rows if row["id"] in broken and row["verdict"] == "fail"] == []
    who = ["--by", "Ada Lovelace", "--role", "Lead", "--statement", "Approved for the chat"]
    assert runoff(["signoff", str(run.folder.path), *who]) == 7
    assert "stamped IMPORTED" in capsys.readouterr().out


def test_a_candidate_without_results_was_not_measured(here: Path) -> None:
    run = imported(here, "B=b.json")

    assert run.plan.candidate("C").skipped == "the imported files hold nothing of it"
    assert not run.plan.candidate("C").measured


def test_the_label_in_a_file_says_whose_it_is(here: Path) -> None:
    (here / "both.json").write_text(
        "\n".join(
            json.dumps(result(15.0, seed, label=label)) for seed, label in enumerate("BC")
        )
    )
    run = imported(here, "both.json")

    assert [cell.name.candidate for cell in run.cells] == ["B", "C"]


def test_the_ledger_names_each_file_with_its_hash(here: Path) -> None:
    run = imported(here, "B=b.json", "C=c.json")

    lines = [line for line in run.ledger if line["event"] == "imported"]
    assert [line["file"] for line in lines] == ["b.json", "c.json"]
    assert all(len(line["sha256"]) == 64 for line in lines)


def test_a_file_of_no_candidate_is_refused(here: Path, capsys) -> None:
    assert "its label names no candidate" in refusal(capsys, "b.json")
    assert "'Z' is no candidate" in refusal(capsys, "Z=b.json")
    assert "cannot be read" in refusal(capsys, "B=absent.json")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_id": "mistralai/Mistral-7B"}, "the contract is for"),
        ({"input_lens": [512] * 240}, "its prompts have 512 to 512 tokens"),
        ({"input_lens": [1, 2047] * 120}, "its prompts have 1 to 2047 tokens"),
        ({"ramp_up_strategy": "linear"}, "ramped up"),
    ],
)
def test_what_answers_another_question_is_refused_and_nothing_is_written(
    here: Path, capsys, changes: dict[str, Any], said: str
) -> None:
    (here / "other.json").write_text(json.dumps(result(15.0, 1, **changes)))

    assert said in refusal(capsys, "B=other.json")
    assert not (here / "runs").exists()


def test_nobody_knows_on_which_machines_they_ran_so_the_margin_is_that_across_machines(
    here: Path,
) -> None:
    run = imported(here, "B=b.json", "C=c.json")

    assert {each.margin for each in run.decision.comparisons} == {0.05}


@pytest.mark.parametrize("twice", [("B=b.json", "B=b.json"), ("B=b.json", "C=b.json")])
def test_one_run_given_twice_is_no_second_launch(
    here: Path, capsys, twice: tuple[str, str]
) -> None:
    assert "it is the same run as b.json" in refusal(capsys, *twice)
    assert not (here / "runs").exists()


def test_what_is_exported_can_be_imported_again(here: Path) -> None:
    run = imported(here, "B=b.json", "C=c.json")
    assert runoff(["export", str(run.folder.path), "--vllm-bench", "out.json"]) == 0

    back = read((here / "out.json").read_text(), "out.json")
    assert [each.label for each in back] == ["B", "B", "B", "C", "C", "C"]
    assert {(each.process, each.streams) for each in back} == {("closed", 4)}
