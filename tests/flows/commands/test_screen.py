"""``runoff screen`` as a user meets it: tables, sentences, JSON, pages, exit codes."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import pytest

from catalog.load import load_campaign, load_catalog
from catalog.screen import Screen, screen_all_offers
from catalog.verdict import Rank, Status
from deploy_templates.registry import load_runtimes
from flows.cli import run

ROOT = Path(__file__).parents[3]
CANONICAL = str(ROOT / "catalog" / "campaigns" / "canonical.yaml")
EXERCISE = str(ROOT / "catalog" / "campaigns" / "exercise.yaml")
OFFLINE = str(ROOT / "catalog" / "campaigns" / "offline_cpu.yaml")
TODAY = ["--today", "2026-09-01"]
GATES = (
    "support",
    "memory",
    "bandwidth",
    "compute",
    "utilisation",
    "interconnect",
    "economics",
)
HOPELESS = """\
schema_version: 1
name: hopeless
question: "Who is <script>alert(1)</script> \\e[31m fast?"
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: 1024
  output_tokens: 128
  concurrency: 16
  slo: {ttft: 1000 ms, itl: 1 ms}
candidates:
  - {name: only, device: nvidia-l4, runtime: vllm, version: 0.6.3}
"""


@pytest.fixture
def hopeless(tmp_path: Path) -> str:
    path = tmp_path / "hopeless.yaml"
    path.write_text(HOPELESS)
    return str(path)


def screened(capsys, *arguments: str) -> str:
    """Standard output of a screen that ends well."""
    assert run(["screen", *arguments, *TODAY]) == 0
    return capsys.readouterr().out


def as_json(capsys, *arguments: str) -> dict[str, dict]:
    """The candidates of ``--json`` by their names."""
    found = json.loads(screened(capsys, *arguments, "--json"))
    return {candidate["name"]: candidate for candidate in found["candidates"]}


def of_all_offers(path: str) -> Screen:
    """The screen of every offer, without a process around it."""
    campaign, day = load_campaign(Path(path)), dt.date(2026, 9, 1)
    return screen_all_offers(campaign, load_catalog(), load_runtimes(), day)


def gate(candidate: dict, name: str) -> dict:
    return next(each for each in candidate["gates"] if each["gate"] == name)


def test_the_canonical_paths_come_out_as_the_lesson_says(capsys) -> None:
    found = as_json(capsys, CANONICAL)

    assert {name: each["verdict"] for name, each in found.items()} == {
        "A": "reject",
        "B": "pass",
        "C": "pass",
        "D": "reject",
    }
    assert found["A"]["decided_by"] == found["D"]["decided_by"] == "bandwidth"
    assert found["B"]["ranks"] == ["primary"]
    assert found["C"]["ranks"] == ["cost-inefficient"]
    assert found["A"]["best_usd_per_1m_output"] is None


def test_both_columns_of_the_canonical_steps_have_their_basis(capsys) -> None:
    bandwidth = gate(as_json(capsys, CANONICAL)["B"], "bandwidth")

    assert bandwidth["bound"] == {
        "value": pytest.approx(8.46, abs=0.005),
        "unit": "ms",
        "basis": "bound",
    }
    assert bandwidth["assumption"] == {
        "value": pytest.approx(11.83, abs=0.005),
        "unit": "ms",
        "basis": "assumption",
    }
    assert bandwidth["limit"]["value"] == 25
    assert bandwidth["formula"]
    assert {"name", "value", "unit", "basis", "source", "date"} == set(bandwidth["inputs"][0])


def test_every_candidate_has_every_gate_in_their_order(capsys) -> None:
    for candidate in as_json(capsys, CANONICAL).values():
        assert tuple(each["gate"] for each in candidate["gates"]) == GATES


def test_the_exercise_comes_out_as_the_lesson_says(capsys) -> None:
    found = as_json(capsys, EXERCISE)

    assert [each["verdict"] for each in found.values()] == ["pass", "reject", "pass"]
    assert found["A"]["ranks"] == ["thin-margin"]
    assert found["C"]["ranks"] == ["primary"]


def test_a_cpu_wins_the_offline_job(capsys) -> None:
    found = as_json(capsys, OFFLINE)

    assert found["xeon-at-night"]["ranks"] == ["primary"]
    assert found["l4-pair"]["decided_by"] == found["workstation"]["decided_by"] == "memory"
    assert found["gpu-node"]["verdict"] == "pass"


def test_the_offline_comment_is_right_about_what_would_change_it(capsys) -> None:
    found = as_json(capsys, OFFLINE)
    cpu, node = found["xeon-at-night"], found["gpu-node"]
    busy_all_night = 52_000 / (4 * 365 * 10) + 0.96
    node_cost = node["best_usd_per_1m_output"] * busy_all_night / node["price_usd_per_hour"]
    rented = of_all_offers(OFFLINE).primary

    assert node_cost < cpu["best_usd_per_1m_output"]
    assert rented.device_count == 1
    assert rented.best_usd_per_1m_output < cpu["best_usd_per_1m_output"]


def test_a_pipe_gets_plain_aligned_text_that_is_the_same_every_time(capsys) -> None:
    first, second = screened(capsys, CANONICAL), screened(capsys, CANONICAL)

    assert first == second
    assert not set(first) & set("│┃─━╭╮╰╯\x1b")
    assert "D is rejected at gate 2 (bandwidth): 57.48 ms even at the peak" in first
    assert "B (NVIDIA A100 SXM4 80GB, vllm 0.6.3) is the paper's choice" in first
    assert "the tie goes to fewer devices" in first


def test_the_table_says_status_margin_both_figures_and_their_basis(capsys) -> None:
    text = screened(capsys, CANONICAL)

    assert "reject −9.6% (27.41 ms b, 48.27 ms a ≤ 25 ms)" in text
    assert "unlikely −2.3% (17.08 GiB b ≤ 22.49 GiB, 20.71 GiB a ≤ 20.24 GiB)" in text
    assert "Basis: s specification, b bound (proof), a assumption (OPEN)" in text


def test_what_no_paper_can_say_is_listed_as_open(capsys) -> None:
    text = screened(capsys, CANONICAL).partition("OPEN: no paper can say")[2]

    assert all(word in text for word in ("p95 TTFT", "p95 ITL", "queue time", "goodput"))


def test_the_load_point_of_8_a_second_is_printed_and_promises_nothing(capsys) -> None:
    text = screened(capsys, CANONICAL)

    assert "At 8 requests/s the utilisation of B would be 1.43 by the assumed rates" in text


def test_explain_prints_formulas_numbers_rules_and_the_errata(capsys) -> None:
    text = screened(capsys, CANONICAL, "--explain").partition("Why: C")[2]

    assert "max((W_read + B·KV − on-chip caches) / peak bandwidth" in text
    assert "lesson: memory floor 12.1 GiB" in text.replace("12.10 GiB", "12.1 GiB")
    assert text.count("Decision rule 3, tensor parallelism") == 1
    assert text.count("Decision rule 4") >= 1
    assert "docs/lesson-errata.md section 1 (the floor of two GPUs)" in text
    assert "docs/lesson-errata.md section 3 (negative scaling over PCIe)" in text


def test_all_offers_show_the_best_and_count_the_rest(capsys) -> None:
    text = screened(capsys, CANONICAL, "--all-offers", "--limit", "3")
    verdicts = text.partition("Verdicts\n")[2].partition("\n\n")[0].splitlines()

    assert len(verdicts) == 1 + 3
    assert "primary" in verdicts[1]
    assert "Needs quality proof: cannot be chosen before it" in text
    assert "Only the best are shown; --limit 0 shows all." in text
    assert " at gate 2 (bandwidth)." in text


def test_all_offers_have_no_column_for_a_gate_that_none_is_asked(capsys) -> None:
    text = screened(capsys, CANONICAL, "--all-offers", "--limit", "4")

    lines = text.partition("\nGates (not asked: 3b utilisation, 5 economics)\n")[2].splitlines()
    heads = "candidate, 0 support, 1 memory, 2 bandwidth, 3 compute, 4 interconnect"
    assert lines[0].split() == heads.replace(",", "").split()


def test_all_offers_give_thousands_of_combinations_rejects_last() -> None:
    found = of_all_offers(CANONICAL).candidates
    rejected = [each.verdict is Status.REJECT for each in found]
    costs = [each.best_usd_per_1m_output for each in found]
    priced = [cost for cost in costs if cost is not None]

    assert len(found) >= 2_000
    assert rejected == sorted(rejected)
    assert priced == sorted(priced)
    assert sum(Rank.PRIMARY in each.ranks for each in found) == 1


@pytest.mark.e2e
def test_the_json_of_all_offers_holds_every_candidate(capsys) -> None:
    found = as_json(capsys, CANONICAL, "--all-offers")

    assert len(found) == len(of_all_offers(CANONICAL).candidates)


def test_nothing_survives_ends_with_3_and_still_says_why(hopeless, capsys) -> None:
    assert run(["screen", hopeless, *TODAY]) == 3

    out = capsys.readouterr().out
    assert "Nothing survives: a bound rejects every candidate" in out
    assert "only is rejected at gate 2 (bandwidth)" in out
    assert "\x1b" not in out


def test_json_is_complete_when_nothing_survives(hopeless, capsys) -> None:
    assert run(["screen", hopeless, "--json", *TODAY]) == 3
    assert json.loads(capsys.readouterr().out)["counts"] == {"reject": 1}


def test_json_stands_alone_on_standard_output(tmp_path, capsys) -> None:
    arguments = [CANONICAL, "--json", "--explain", "--report", str(tmp_path / "pages")]
    assert run(["screen", *arguments, *TODAY]) == 0

    captured = capsys.readouterr()
    assert json.loads(captured.out)["stamp"] == "ESTIMATE"
    assert "paper.html" in captured.err


def test_prices_grow_stale_after_ninety_days(tmp_path, capsys) -> None:
    path = tmp_path / "rented.yaml"
    path.write_text(
        Path(CANONICAL).read_text().partition("candidates:")[0]
        + "candidates:\n  - {name: l4, offer: verda/a100-80gb-1x, runtime: vllm, "
        'version: "0.6.3"}\n'
    )

    fresh = run(["screen", str(path), "--today", "2026-11-20"]), capsys.readouterr().out
    stale = run(["screen", str(path), "--today", "2026-11-21"]), capsys.readouterr().out

    assert fresh[0] == stale[0] == 0
    assert "stale" not in fresh[1]
    assert "the price is older than 90 days: it cannot decide a signoff" in stale[1]


def test_a_users_own_entry_wins_and_is_shown_as_theirs(tmp_path, capsys) -> None:
    mine = tmp_path / "mine"
    (mine / "devices").mkdir(parents=True)
    shipped = (ROOT / "catalog" / "devices" / "nvidia-l4.yaml").read_text()
    faster = shipped.replace("value: 300 GB/s", "value: 3000 GB/s")
    (mine / "devices" / "nvidia-l4.yaml").write_text(faster)
    report = tmp_path / "pages"

    text = screened(capsys, CANONICAL, "--catalog", str(mine), "--report", str(report))

    assert "D is rejected" not in text
    facts = text.partition("\nFacts\n")[2]
    assert any("D" in line and str(mine) in line for line in facts.splitlines())
    assert f"yours: {mine}" in (report / "paper.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([CANONICAL, "--today", "tomorrow"], "--today: 'tomorrow' is not a date"),
        (["nowhere.yaml"], "nowhere.yaml: there is no such file"),
        ([CANONICAL, "--catalog", "nowhere"], "nowhere: there is no such folder"),
        ([CANONICAL, "--limit", "-1"], "--limit"),
        ([CANONICAL, "--report", CANONICAL], "the folder cannot be written"),
    ],
)
def test_flags_that_cannot_be_used_end_with_2(arguments, said, capsys) -> None:
    code = run(["screen", *arguments, *([] if "--today" in arguments else TODAY)])

    assert code == 2
    assert said in capsys.readouterr().err


def test_a_campaign_without_candidates_needs_all_offers(tmp_path, capsys) -> None:
    path = tmp_path / "open.yaml"
    path.write_text(Path(CANONICAL).read_text().partition("candidates:")[0])

    assert run(["screen", str(path), *TODAY]) == 2
    assert "the file names no candidate" in capsys.readouterr().err
    assert run(["screen", str(path), "--all-offers", *TODAY]) == 0


BAD = {
    "empty": ("", 1, "the file is empty"),
    "tabs": ("schema_version: 1\n\tname: x\n", 2, "a tab is used for indentation"),
    "wrong unit": (HOPELESS.replace("1000 ms", "1000 GB"), 9, "unit 'GB'"),
    "no unit": (HOPELESS.replace("1000 ms", "1000"), 9, "has no unit"),
    "unknown key": (HOPELESS.replace("slo:", "sla:"), 9, "Did you mean 'slo'?"),
    "negative price": (
        HOPELESS.replace("0.6.3}", "0.6.3, assumptions: {price: -$1/h}}"),
        11,
        "is negative",
    ),
    "more ranks than devices": (
        HOPELESS.replace("0.6.3}", "0.6.3, tensor_parallel: 2}"),
        11,
        "2 ranks need 2 devices",
    ),
    "unquoted version": (HOPELESS.replace("0.6.3}", "0.6}"), 11, "Quote the version"),
    "two documents": (HOPELESS + "---\nname: y\n", None, "second document"),
}


def as_process(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flows.cli", "screen", str(path)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=30, cwd=ROOT
    )


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_at_its_line(name: str, tmp_path, capsys) -> None:
    text, line, said = BAD[name]
    path = tmp_path / "bad.yaml"
    path.write_text(text)

    assert run(["screen", str(path), *TODAY]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert f"bad.yaml:{line}: " in message or line is None


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("Meta-Llama-3-8B-Instruct", "Meta-Llama-3-8B-Instrukt", 5),
        ("device: nvidia-l4,", "device: nvidia-l5,", 11),
        ("runtime: vllm,", "runtime: vlm,", 11),
        ("runtime: vllm,", "runtime: vllm, precision: bfloat17,", 11),
        ("runtime: vllm,", "runtime: vllm, link: nvlnk3,", 11),
    ],
)
def test_names_that_the_catalog_lacks_are_refused_at_their_line_with_the_nearest(
    right: str, wrong: str, line: int, tmp_path, capsys
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(HOPELESS.replace(right, wrong))

    assert run(["screen", str(path), *TODAY]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"runoff: {path}:{line}: ")
    assert "Did you mean" in message


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("0.6.3}", "0.6.3, assumptions: {bandwidth: 0 GB/s}}", "'0 GB/s' is no rate"),
        ("0.6.3}", "0.6.3, assumptions: {compute: 0 TFLOP/s}}", "'0 TFLOP/s' is no rate"),
        ("0.6.3}", "0.6.3, settings: {max_model_len: .inf}}", "'.inf' is not a"),
        ("0.6.3}", "0.6.3, extra_args: [--max-model-len=inf]}", "inf is not a length"),
        ("0.6.3}", "0.6.3, settings: {max_model_len: -5}}", "-5 is not a length"),
        ("ttft: 1000 ms", "ttft: 0 ms", "'0 ms' leaves no time"),
        ("ttft: 1000 ms", "goodput: 150%, ttft: 1000 ms", "'150%' is more than the whole"),
        ("ttft: 1000 ms", "goodput: '95', ttft: 1000 ms", "'95' is more than the whole"),
        ("concurrency: 16", "rate: 0/s", "'0/s' is no rate"),
        ("concurrency: 16", "offline: {requests: 5, deadline: 0 s}", "'0 s' leaves no time"),
        ("concurrency: 16", "offline: {tokens_per_hour: 0 tok/h}", "'0 tok/h' is no rate"),
    ],
)
def test_nothing_is_divided_by_a_zero_that_a_file_states(
    right: str, wrong: str, said: str, tmp_path, capsys
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(HOPELESS.replace(right, wrong))

    assert run(["screen", str(path), *TODAY]) == 2
    assert said in capsys.readouterr().err


def bomb() -> str:
    """Nine levels of nine aliases each: a billion values in half a kilobyte."""
    first = "a0: &a0 [x, x, x, x, x, x, x, x, x]"
    others = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join([first, *others])


@pytest.mark.parametrize(
    ("text", "said"),
    [(bomb(), "expands to more than"), ("x: " + "y" * 10_000_000, "larger than")],
    ids=["bomb", "ten megabytes"],
)
def test_a_real_process_refuses_what_would_swallow_it(text, said, tmp_path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    ended = as_process(path)

    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stdout == ""


def test_a_real_process_prints_to_a_pipe_and_ends_with_0() -> None:
    ended = as_process(Path(CANONICAL))

    assert ended.returncode == 0
    assert ended.stderr == ""
    assert "primary" in ended.stdout


def test_screening_imports_nothing_heavy() -> None:
    heavy = ["scipy", "numpy", "pandas", "pyarrow", "prefect", "jinja2", "rich.table"]
    program = (
        "import sys; from flows.cli import run; "
        f"code = run(['screen', {CANONICAL!r}, '--all-offers']); "
        f"print([name for name in {heavy!r} if name in sys.modules], code, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert ended.stderr.strip() == "[] 0"
