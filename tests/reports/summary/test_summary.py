"""A run is summarised over its launches: medians, clauses, money, launches."""

from __future__ import annotations

import json
from math import inf

import pytest

from catalog.quantity import Basis
from reports.cell import judge
from reports.gathered import gathered
from reports.records import read_records
from reports.run.plan_file import CandidateFacts, LoadPoint, OfflineFacts, PriceFacts
from reports.run.read import file_text, read_run
from reports.run.search_file import SearchFile
from reports.summary import summary_of
from reports.summary.money import Money, money_of
from reports.summary.numbers import over_launches
from tests.reports.run.builder import CONTRACT, POINTS, QUICK, B, Made, build_run, priced

POINT = "closed-4"
SIMULATED = {"basis": "simulation"}


def summarised(path, *made, **options):
    run = read_run(build_run(path, made or (B,), **options).path)
    return run, summary_of(run, gathered(run))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return summarised(tmp_path_factory.mktemp("run"))


def test_measures_are_medians_over_launches_never_over_pooled_requests(honest):
    run, summary = honest
    launches = [
        judge(read_records(each.records).columns, each.file.asked.settings()).summary
        for each in run.cells
        if each.name.load_point == POINT
    ]
    p95 = sorted(launch.measures["ttft"].with_failures.percentiles[95] for launch in launches)

    number = summary.candidate("B").cell(POINT).measures["ttft_p95_ms"]
    assert number.value == p95[1]
    assert (number.minimum, number.maximum) == (p95[0], p95[2])
    assert number.low < number.value < number.high
    assert number.runs == 3


def test_each_clause_is_judged_over_all_launches(honest):
    clauses = honest[1].candidate("B").cell(POINT).clauses

    assert {name: clause.verdict for name, clause in clauses.items()} == {
        "ttft": "holds",
        "itl": "holds",
        "goodput": "holds",
    }
    assert clauses["goodput"].number.runs == 3


def test_goodput_is_shown_under_every_itl_statistic(honest):
    cell = honest[1].candidate("B").cell(POINT)

    assert set(cell.goodput) == {"tpot", "p95_gap", "max_gap"}
    assert cell.clauses["goodput"] == cell.goodput["tpot"]


def test_cost_is_the_whole_instance_s_price_over_compliant_tokens(honest):
    cell = honest[1].candidate("B").cell(POINT)
    tokens_per_s = cell.measures["compliant_tokens_per_s"].value

    assert cell.measures["usd_per_1m_compliant"].value == pytest.approx(
        3.67 / (tokens_per_s * 3600) * 1e6
    )
    assert cell.measures["compliant_tok_per_machine_hour"].value == pytest.approx(
        tokens_per_s * 3600
    )


def test_a_launch_s_figures_stand_beside_the_median(honest):
    cell = honest[1].candidate("B").cell(POINT)
    values = [each.figures["usd_per_1m_compliant"] for each in cell.replications]

    assert cell.measures["usd_per_1m_compliant"].value == sorted(values)[1]


def test_concluding_again_gives_the_same_bytes(honest):
    run, summary = honest

    assert file_text(summary_of(run, gathered(run))) == file_text(summary)


def test_no_compliant_token_costs_infinitely_and_is_no_number(tmp_path):
    _, summary = summarised(tmp_path, Made(itl_ms=60.0), **QUICK)
    cell = summary.candidate("B").cell(POINT)

    number = cell.measures["usd_per_1m_compliant"]
    assert number.value is None
    assert "infinite" in number.note
    assert cell.measures["compliant_tokens_per_s"].value == 0
    assert cell.clauses["itl"].verdict == "misses"
    assert cell.clauses["goodput"].verdict == "misses"


def test_a_percentile_among_the_failures_is_no_number_and_misses(tmp_path):
    _, summary = summarised(tmp_path, Made(failures=0.3), **QUICK)
    cell = summary.candidate("B").cell(POINT)

    assert cell.measures["ttft_p95_ms"].value is None
    assert "failures" in cell.measures["ttft_p95_ms"].note
    assert cell.clauses["ttft"].verdict == "misses"
    assert cell.requests["failed"] > 0


def test_one_launch_proves_nothing(tmp_path):
    _, summary = summarised(tmp_path, B, replications=1, **QUICK)
    clauses = summary.candidate("B").cell(POINT).clauses

    assert {clause.verdict for clause in clauses.values()} == {"inconclusive"}
    assert all("one launch" in clause.why for clause in clauses.values())


def test_tokens_of_a_service_cost_what_all_that_came_cost(tmp_path):
    facts = {"kind": "endpoint", "host_class": "endpoint"}
    made = Made(price=priced(2.0, unit="USD/Mtok"), late=0.5, facts=facts)
    _, summary = summarised(tmp_path, made, **QUICK)
    measures = summary.candidate("B").cell(POINT).measures

    assert measures["usd_per_1m_output"].value == 2.0
    assert measures["usd_per_1m_compliant"].value > 3.0
    assert "compliant_tok_per_machine_hour" not in measures


def test_a_rehearsal_s_numbers_are_simulations(tmp_path):
    _, summary = summarised(tmp_path, B, rehearsal=True, **QUICK)
    cell = summary.candidate("B").cell(POINT)

    assert summary.rehearsal
    assert {number.basis for number in cell.measures.values()} == {Basis.SIMULATION}


def test_work_per_hour_is_a_clause_of_offline_contracts(tmp_path):
    slo = CONTRACT.slo.model_copy(update={"ttft_ms": None, "itl_ms": None, "goodput": None})
    for goal, verdict in ((300_000.0, "holds"), (5_000_000.0, "misses")):
        contract = CONTRACT.model_copy(
            update={"slo": slo, "offline": OfflineFacts(tokens_per_hour=goal)}
        )
        options = QUICK | {"contract": contract, "decision_point": None}
        _, summary = summarised(tmp_path / verdict, B, **options)
        clause = summary.candidate("B").cell(POINT).clauses["throughput"]
        assert clause.verdict == verdict
        assert clause.number.level == 0.975  # two levels share the claim


def test_launches_tell_how_they_came_up(tmp_path):
    made = Made(
        failed_launches=(1,),
        read_back=(
            {"variable": "dtype", "asked": "bfloat16", "seen": "float16", "verdict": "differs"},
        ),
    )
    _, summary = summarised(tmp_path, made, **QUICK)
    launches = summary.candidate("B").launches

    assert [launch.state for launch in launches] == ["ready", "failed", "ready"]
    assert launches[1].error == "CUDA error: out of memory"
    assert launches[0].differences == ("dtype: asked bfloat16, seen float16",)


def test_a_launch_that_we_broke_off_is_no_failure_of_the_candidate(tmp_path):
    folder = build_run(tmp_path, (B,), **QUICK)
    path = folder.launch("B", 2) / "launch.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"state": "given up"}))
    run = read_run(folder.path)

    launches = summary_of(run, gathered(run)).candidate("B").launches
    assert [launch.state for launch in launches] == ["ready", "ready"]


def test_an_earlier_launch_of_a_replication_that_failed_is_a_threat(tmp_path):
    folder = build_run(tmp_path, (B,), **QUICK)
    earlier = folder.launch("B", 0) / "earlier-1"
    earlier.mkdir()
    (earlier / "launch.json").write_text(json.dumps({"state": "failed", "error": "no disk"}))
    run = read_run(folder.path)

    first = summary_of(run, gathered(run)).candidate("B").launches[0]
    assert first.state == "ready"
    assert first.threats == ("an earlier launch of this replication failed",)


def test_a_launch_at_production_clocks_that_failed_is_told_and_fails_nobody(tmp_path):
    folder = build_run(tmp_path, (B,), **QUICK)
    again = folder.launch("B", 0) / "production"
    again.mkdir()
    (again / "launch.json").write_text(json.dumps({"state": "failed", "error": "no memory"}))
    who = {"candidate": "B", "replication": 0, "production": True}
    with folder.file("ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps({"event": "launch-failed", **who, "why": "no memory"}) + "\n")
    run = read_run(folder.path)

    first, *others = summary_of(run, gathered(run)).candidate("B").launches
    assert {launch.state for launch in (first, *others)} == {"ready"}
    assert first.threats == ("its launch at production clocks failed: no memory",)
    assert all(launch.threats == () for launch in others)


def test_the_time_to_one_more_replica_says_what_it_lacks(honest):
    number = honest[1].candidate("B").first_token_s

    assert number.value == 60.5
    assert "without the time to acquire" in number.note


def test_cells_that_a_search_proposed_carry_their_load(tmp_path):
    proof = LoadPoint(name="poisson-1.5", process="poisson", rate_per_s=1.5)
    search = SearchFile(
        candidate="B",
        tries=(),
        highest_held=1.5,
        lowest_missed=2.0,
        proof=(proof,),
        why_ended="found",
    )
    _, summary = summarised(tmp_path, Made(search=search), **QUICK)

    assert summary.candidate("B").cell("poisson-1.5").point == proof


def test_an_early_end_is_named_unless_the_run_went_on(tmp_path):
    run = read_run(build_run(tmp_path, (B,), **QUICK).path)
    with run.folder.file("ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps({"at": "x", "event": "budget-stop", "why": "50 USD"}) + "\n")
    again = read_run(run.folder.path)
    assert summary_of(again, gathered(again)).interrupted == "50 USD"

    with run.folder.file("ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps({"at": "x", "event": "resumed"}) + "\n")
    again = read_run(run.folder.path)
    assert summary_of(again, gathered(again)).interrupted is None


def test_files_changed_since_they_were_measured_are_strays(tmp_path):
    run = read_run(build_run(tmp_path, (B,), points=POINTS[:1], replications=1).path)
    run.cells[0].client.write_text("{}")

    assert [each.strays for each in gathered(run).replications] == [("0.client.json",)]


def test_a_unit_of_money_follows_the_price():
    assert money_of(_facts("EUR/h")) == Money(currency="EUR", per_hour=3.0)
    assert money_of(_facts("USD/Mtok")) == Money(currency="USD", per_mtok=3.0)


def _facts(unit):
    return CandidateFacts(
        name="B",
        kind="launch",
        host="h",
        host_class="ssh",
        price=PriceFacts(value=3.0, unit=unit, basis=Basis.ASSUMPTION),
    )


def test_a_launch_without_a_value_leaves_the_measure_without_one():
    number = over_launches(
        [1.0, None, 3.0], name="ttft_p95_ms", unit="ms", basis=Basis.MEASUREMENT, requests=3
    )

    assert number.value is None
    assert number.note == "not observed in every launch"


def test_one_infinite_launch_of_three_leaves_a_median_and_no_interval():
    number = over_launches(
        [1.0, 2.0, inf], name="ttft_p95_ms", unit="ms", basis=Basis.MEASUREMENT, requests=3
    )

    assert (number.value, number.low, number.high, number.maximum) == (2.0, None, None, None)


@pytest.mark.parametrize("says_so", [{"cell": SIMULATED}, {"client": SIMULATED}])
def test_a_cell_is_simulated_where_any_of_its_files_says_so(tmp_path, says_so):
    _, summary = summarised(tmp_path, Made(name="B", **says_so), **QUICK)

    bases = {cell.basis for cell in summary.candidate("B").cells}
    assert bases == {Basis.SIMULATION}
