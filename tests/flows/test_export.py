"""A run is handed on as files, as a deployment, for other tools, as a record; or compared."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from catalog.load import load_campaign, load_catalog
from flows.cli import run as runoff
from flows.launch_plans import planned
from reports.conclude import conclude
from reports.manifest import manifest_sha256, write_manifest
from reports.records import read_records
from reports.render import render_run
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import file_text, read_run
from reports.run.signoff_file import Approval, Signoff
from tests.reports.run.builder import CONTRACT, NOW, QUICK, B, C, Made, build_run

CAMPAIGN = """
schema_version: 1
name: launched
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: 1024
  output_tokens: 128
  concurrency: 4
  slo: {ttft: 1000 ms, itl: 25 ms}
candidates:
  - {name: B, device: nvidia-a100-80gb-sxm4, runtime: vllm, settings: {mode: container}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    root = tmp_path_factory.mktemp("exported")
    (root / "launched.yaml").write_text(CAMPAIGN)
    (plan,) = planned(load_campaign(root / "launched.yaml"), load_catalog())
    launch = plan.plan.to_json()
    folder = build_run(
        root, [Made(name="B", facts={"launch": launch}), C], replications=2, **QUICK
    )
    conclude(folder, now=NOW)
    render_run(folder, now=NOW)
    return folder


def export(folder: RunFolder, *options: str) -> int:
    return runoff(["export", str(folder.path), *options])


def test_a_bundle_from_the_command_proves_itself(run: RunFolder, tmp_path: Path) -> None:
    assert export(run, "--bundle", str(tmp_path / "run.zip")) == 0

    unpack = [sys.executable, "-m", "zipfile", "-e", tmp_path / "run.zip", tmp_path / "out"]
    subprocess.run(unpack, check=True)
    proof = [sys.executable, "-I", "-S", tmp_path / "out" / "verify.py"]
    done = subprocess.run(proof, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert manifest_sha256(run) in done.stdout


def test_the_winners_launch_names_the_evidence_it_rests_on(
    run: RunFolder, tmp_path: Path
) -> None:
    assert export(run, "--launch", "compose", "--out", str(tmp_path)) == 0

    text = (tmp_path / "compose.yaml").read_text()
    plan = read_run(run.path).plan.candidate("B").launch or {}
    assert manifest_sha256(run) in text
    service = yaml.safe_load(text)["services"]["server"]
    assert service["command"] == plan["argv"][plan["argv"].index("-m") :]
    assert service["cpuset"] == "2,3"  # those that it was held to when it was measured


@pytest.mark.parametrize("way", ["systemd", "kubernetes"])
def test_the_other_ways_are_written_too(run: RunFolder, tmp_path: Path, way: str) -> None:
    assert export(run, "--launch", way, "--out", str(tmp_path)) == 0
    assert any(tmp_path.glob("runoff-b.*"))


def test_nothing_is_overwritten(run: RunFolder, tmp_path: Path, capsys) -> None:
    (tmp_path / "compose.yaml").write_text("mine")
    (tmp_path / "cells.csv").write_text("mine")
    (tmp_path / "mine.md").write_text("mine")

    assert export(run, "--launch", "compose", "--out", str(tmp_path)) == 2
    assert export(run, "--csv", str(tmp_path)) == 2
    assert export(run, "--decision-record", str(tmp_path / "mine.md")) == 2
    assert capsys.readouterr().err.count("this file exists") == 3
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}


@pytest.mark.parametrize(
    "refused",
    [
        ("--launch", "compose", "--candidate", "C"),
        ("--vllm-bench", "mine.jsonl"),
        ("--decision-record", "mine.jsonl"),
    ],
)
def test_where_one_option_is_refused_no_file_of_the_others_is_written(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text("mine")

    assert export(run, "--bundle", "run.zip", "--csv", "tables", *refused) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


def test_what_cannot_be_launched_is_refused(run: RunFolder, tmp_path: Path, capsys) -> None:
    out = ["--out", str(tmp_path)]

    assert export(run, "--launch", "nomad", *out) == 2
    assert export(run, "--launch", "compose", "--candidate", "Z", *out) == 2
    assert export(run, "--launch", "compose", "--candidate", "C", *out) == 2
    assert export(run) == 2
    said = capsys.readouterr().err
    assert "there is no way 'nomad'" in said
    assert "there is no candidate 'Z'" in said
    assert "nothing is asked for" in said


def test_a_simulated_engine_is_not_deployed(run: RunFolder, tmp_path: Path, capsys) -> None:
    launch = {**(read_run(run.path).plan.candidate("B").launch or {}), "simulation": True}
    made = [Made(name="B", facts={"launch": launch})]
    folder = build_run(tmp_path, made, replications=1, rehearsal=True, **QUICK)
    conclude(folder, now=NOW)
    options = ["--launch", "compose", "--candidate", "B", "--out", str(tmp_path / "out")]

    assert export(folder, *options) == 7
    assert "a simulated engine" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_refused_launch_says_that_the_bundle_alone_is_written(
    run: RunFolder, tmp_path: Path, capsys
) -> None:
    launch = read_run(run.path).plan.candidate("B").launch
    made = [Made(name="B", itl_ms=99.0, facts={"launch": launch})]
    folder = build_run(tmp_path, made, replications=2, **QUICK)
    conclude(folder, now=NOW)
    write_manifest(folder)
    bundle = ["--bundle", str(tmp_path / "run.zip")]

    assert read_run(folder.path).decision.winner is None
    assert export(folder, *bundle, "--launch", "systemd", "--out", str(tmp_path / "out")) == 7
    assert "Nothing was written; leave --launch out" in capsys.readouterr().err
    assert not (tmp_path / "run.zip").exists()
    assert export(folder, *bundle) == 0


def test_a_run_that_has_changed_is_not_handed_on_under_its_manifest(
    run: RunFolder, tmp_path: Path, capsys
) -> None:
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(run.path, folder.path)
    plan = folder.file(layout.PLAN)
    plan.write_text(plan.read_text().replace("8000", "9000"))

    assert export(folder, "--launch", "compose", "--out", str(tmp_path / "out")) == 7
    assert export(folder, "--decision-record", str(tmp_path / "record.md")) == 7
    assert capsys.readouterr().err.count("plan.json") == 2
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "record.md").exists()


@pytest.mark.parametrize("approvals", [(), ({"by": "Eve", "role": "x", "statement": "y"},)])
def test_a_signoff_made_by_hand_makes_no_exploratory_run_a_signed_one(
    run: RunFolder, tmp_path: Path, approvals: tuple[dict[str, str], ...]
) -> None:
    """Two launches: EXPLORATORY. ``check`` tells of the forgery; no page repeats it."""
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(run.path, folder.path)
    decision = read_run(folder.path).decision
    forged = Signoff(
        evidence="MEASURED", manifest_sha256=manifest_sha256(folder), campaign="canonical",
        run="20260822-120000", chosen=str(decision.winner), sentence=decision.sentence,
        scope="speed", valid_until=None, rerun_when=(),
        approvals=tuple(Approval(**each, at=NOW.isoformat()) for each in approvals),
    )  # fmt: skip
    folder.file(layout.SIGNOFF).write_text(file_text(forged))

    assert export(folder, "--launch", "compose", "--out", str(tmp_path)) == 0
    assert export(folder, "--decision-record", str(tmp_path / "record.md")) == 0
    assert "not signed" in (tmp_path / "compose.yaml").read_text()
    assert "proposed: not signed" in (tmp_path / "record.md").read_text()
    assert runoff(["report", str(folder.path)]) == 0
    assert ">SIGNED<" not in folder.file(layout.REPORT_HTML).read_text()


def test_of_a_tie_the_launch_is_that_of_whom_the_rule_names(
    run: RunFolder, tmp_path: Path
) -> None:
    launch = read_run(run.path).plan.candidate("B").launch
    twins = [Made(name=name, facts={"launch": launch}) for name in ("B", "C")]
    folder = build_run(tmp_path, twins, replications=2, **QUICK)
    conclude(folder, now=NOW)
    write_manifest(folder)

    assert read_run(folder.path).decision.outcome == "no difference shown"
    assert export(folder, "--launch", "systemd", "--out", str(tmp_path / "out")) == 0


def test_the_tables_are_written_as_csv_with_units_in_their_headings(
    run: RunFolder, tmp_path: Path
) -> None:
    assert export(run, "--csv", str(tmp_path / "csv")) == 0

    with (tmp_path / "csv" / "requests.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(
        len(read_records(cell.records).columns) for cell in read_run(run.path).cells
    )
    assert {"ttft_ms", "sent_s", "candidate", "load_point"} <= set(rows[0])
    assert {row["candidate"] for row in rows} == {"B", "C"}
    with (tmp_path / "csv" / "candidates.csv").open(newline="") as file:
        chosen = [
            row["candidate"] for row in csv.DictReader(file) if row["is_chosen"] == "True"
        ]
    assert chosen == [read_run(run.path).decision.chosen]


def test_cells_are_written_for_the_other_tool_one_object_a_line(
    run: RunFolder, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    assert export(run, "--vllm-bench", str(path), "--candidate", "B") == 0

    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert {each["label"] for each in found} == {"B"}
    assert {each["max_concurrency"] for each in found} == {1, 4}
    assert len(found) == 2 * 2
    assert {each["date"] for each in found} == {"20260822-120000"}


def test_a_decision_record_holds_the_decision_and_its_hash(
    run: RunFolder, tmp_path: Path
) -> None:
    assert export(run, "--decision-record", str(tmp_path / "0001-serve.md")) == 0

    text = (tmp_path / "0001-serve.md").read_text()
    decision = read_run(run.path).decision
    assert decision.sentence.split(",")[0] in text
    assert f"{decision.gap.candidate} against {decision.gap.against}" in text
    assert manifest_sha256(run) in text
    assert "proposed: not signed" in text
    assert "TPOT" in text
    assert "p95 tpot" not in text
    assert "(tpot)" not in text
    assert text.endswith("\n")


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The same campaign later: B has got too slow and cheaper."""
    root = tmp_path_factory.mktemp("slower")
    later = Made(name="B", itl_ms=30.0, price=3.00)
    folder = build_run(root, [later, C], replications=3, plan={"run": "later"}, **QUICK)
    conclude(folder, now=NOW)
    return folder


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = build_run(tmp_path_factory.mktemp("earlier"), [B, C], replications=3, **QUICK)
    conclude(folder, now=NOW)
    return folder


def difference(a: RunFolder, b: RunFolder, capsys: pytest.CaptureFixture[str]) -> dict:
    assert runoff(["diff", str(a.path), str(b.path), "--json"]) == 0
    found: dict = json.loads(capsys.readouterr().out)
    return found


def test_a_run_does_not_differ_from_itself(earlier: RunFolder, capsys) -> None:
    found = difference(earlier, earlier, capsys)

    assert found["differences"] == []
    assert found["reasons"] == []
    assert not found["is_decision_changed"]
    assert {each["word"] for each in found["compared"]} == {"no difference shown"}
    assert {each["ratio"] for each in found["compared"]} == {1.0}


def test_a_changed_price_and_a_changed_speed_are_named(
    earlier: RunFolder, slower: RunFolder, capsys
) -> None:
    found = difference(earlier, slower, capsys)

    prices = [d for d in found["differences"] if d["part"] == "price of B"]
    assert [(d["what"], d["a"], d["b"]) for d in prices] == [("value", "3.67", "3")]
    (tpot,) = [
        each
        for each in found["compared"]
        if (each["candidate"], each["load_point"], each["measure"])
        == ("B", "closed-4", "tpot_p95_ms")
    ]
    assert tpot["word"] == "worse"
    assert tpot["ratio"] == pytest.approx(2.0, rel=0.05)
    assert tpot["low"] < tpot["ratio"] < tpot["high"]


def test_another_decision_is_explained(earlier: RunFolder, slower: RunFolder, capsys) -> None:
    found = difference(earlier, slower, capsys)

    assert found["is_decision_changed"]
    said = " ".join(found["reasons"])
    assert "B stood as 'complies' and stands as 'misses'" in said
    assert "tpot_p95_ms at closed-4: 2" in said
    assert re.search(r"1M compliant tokens of B cost \$\d\.\d\d and now (\$|unknown)", said)


def test_of_two_launches_only_the_words_that_differ_are_shown(tmp_path: Path, capsys) -> None:
    runs = []
    for name, words in (("a", ["--seed", "1"]), ("b", ["--seed", "2", "--eager"])):
        launch = {
            "argv": ["vllm", "serve", *words],
            "env": {"X": name},
            "readiness": {"limit_s": len(words)},
            "controlled": {"seed": {"asked": int(words[1]), "note": name}},
            "files": {"serve.sh": name, "config.yml": name},
        }
        made = Made(name="B", facts={"launch": launch})
        runs.append(build_run(tmp_path / name, [made], replications=1, **QUICK))
        conclude(runs[-1], now=NOW)
    found = difference(*runs, capsys)["differences"]

    shown = {d["what"]: (d["a"], d["b"]) for d in found if d["part"] == "launch of B"}
    assert shown["argv"] == ("1", "2, --eager")
    assert shown["env.X"] == ("a", "b")
    assert shown["seed asked"] == ("1", "2")
    assert set(shown) == {"argv", "env.X", "seed asked", "file config.yml"}


def test_a_diff_reads_as_tables(earlier: RunFolder, slower: RunFolder, capsys) -> None:
    assert runoff(["diff", str(earlier.path), str(slower.path)]) == 0

    said = capsys.readouterr().out
    assert "Medians over launches" in said
    assert "price of B" in said


def test_two_undecided_runs_with_nothing_in_common_have_not_decided_the_same(
    tmp_path: Path, capsys
) -> None:
    slow, slower = Made(name="B", itl_ms=60.0), Made(name="D", itl_ms=70.0)
    slo = CONTRACT.slo.model_copy(update={"ttft_ms": 900.0})
    other = CONTRACT.model_copy(update={"slo": slo})
    runs = [
        build_run(tmp_path / "a", [slow], **QUICK),
        build_run(tmp_path / "b", [slower], contract=other, **QUICK),
    ]
    for each in runs:
        conclude(each, now=NOW)

    assert runoff(["diff", *(str(each.path) for each in runs)]) == 0
    said = capsys.readouterr().out.partition("\nDecision\n")[2].splitlines()

    assert said[:3] == [
        "  They have no candidate in common.",
        "  Their contracts are not the same.",
        "  In neither is anything decided: none complies.",
    ]
    assert said[3].startswith("  A: ")
    assert said[4].startswith("  B: ")


def test_a_run_beside_itself_has_the_same_decision(earlier: RunFolder, capsys) -> None:
    assert runoff(["diff", str(earlier.path), str(earlier.path)]) == 0
    assert capsys.readouterr().out.endswith("\nDecision\n  It is the same in both.\n")


def test_a_diff_needs_two_concluded_runs(earlier: RunFolder, tmp_path: Path, capsys) -> None:
    assert runoff(["diff", str(earlier.path), str(tmp_path)]) == 2
    unfinished = build_run(tmp_path, [B], replications=1, **QUICK)
    assert runoff(["diff", str(earlier.path), str(unfinished.path)]) == 7
    assert "begun, and never concluded" in capsys.readouterr().err
