"""A campaign's steps without Prefect, on simulated engines: launch, cells, death, search."""

from __future__ import annotations

import io
import os
import signal
import threading
import time

import pytest
import yaml

from catalog.load import shipped_catalog
from flows import opening, searching, visiting
from flows.compare import surroundings
from flows.errors import BudgetStop, LaunchError, NothingSurvives, UsageError
from flows.interruption import Interrupted
from flows.measure import measure_replication
from flows.progress import Progress
from flows.provision import acquire, describe, release
from flows.taking_up import Options, taken_up
from flows.underway import utc_now
from reports.run.ledger_file import read_ledger
from reports.run.read import read_run

pytestmark = pytest.mark.e2e

CAMPAIGN = {
    "schema_version": 1,
    "name": "steps",
    "contract": {
        "model": "tiny-llama-19m",
        "prompt_tokens": 16,
        "output_tokens": 8,
        "concurrency": 2,
        "slo": {"ttft": "2000 ms", "itl": "500 ms"},
    },
    "candidates": [
        {"name": "a", "host": "local", "runtime": "rehearsal", "settings": {"max_sequences": 2}}
    ],
    "matrix": {
        "concurrency": [2],
        "requests": 20,
        "warmup": "fixed",
        "warmup_requests": 2,
        "replications": 2,
    },
    "screening": {"unknown": "measure"},
    "exploratory": True,
}


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Begins a campaign; what is changed is laid over the plain one."""
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "RUNOFF_HOME": str(tmp_path), "RUNOFF_LOCKS": str(tmp_path)}

    def begin(*, matrix=None, options=None, ask=lambda _plan: False, **changed):
        document = {**CAMPAIGN, **changed, "matrix": {**CAMPAIGN["matrix"], **(matrix or {})}}
        file = tmp_path / "steps.yaml"
        file.write_text(yaml.safe_dump(document))
        around = surroundings(environment, Progress(io.StringIO(), utc_now))
        return taken_up(Options(campaign=file, **(options or {})), around, ask)

    return begin


def names(work):
    return [entry["event"] for entry in read_ledger(work.store.folder.file("ledger.jsonl"))]


def ready(work):
    describe(work, "local", acquire(work, "local"))
    opening.make_ready(work, "a")
    return work.plan.order[0]


def test_one_launch_leaves_its_cell_its_machine_and_its_ledger(begun):
    with begun() as work:
        visit = ready(work)
        ((position, point),) = visiting.todo(work, visit)
        serving = visiting.serve(work, visit)
        pointer = measure_replication(work, serving, visit, point, position)
        visiting.stop(work, serving, visit, None)
        release(work)

        (cell,) = read_run(work.store.folder.path).cells
        assert cell.file.basis == "simulation"
        assert cell.file.launch == "a-0"
        assert cell.file.foreign["cpus"] >= 1
        assert pointer.path == f"cells/{cell.name.folder}/0.cell.json"
        assert visiting.todo(work, visit) == ()
        assert names(work) == [
            *("acquiring", "acquired", "ready", "launching", "launched", "measuring"),
            *("measured", "spent", "stopped", "releasing", "released", "spent"),
        ]


def test_a_server_that_dies_under_load_costs_the_cell_with_the_reason(begun):
    with begun(matrix={"requests": 2000}) as work:
        visit = ready(work)
        serving = visiting.serve(work, visit)
        threading.Timer(1.0, os.kill, (serving.running.pid, signal.SIGKILL)).start()
        began_s = time.monotonic()

        with pytest.raises(LaunchError, match="SIGKILL") as died:
            measure_replication(work, serving, visit, "closed-2", 0)
        visiting.stop(work, serving, visit, died.value)
        visiting.lose(work, visit, died.value)

        assert time.monotonic() - began_s < 20
        assert names(work)[-4:] == ["discarded", "launch-failed", "stopped", "skipped"]
        assert "SIGKILL" in work.attempts(visit, "closed-2")[0]
        assert not work.is_given_up("a")
        work.learn_launch("a", died.value)
        assert work.is_given_up("a")
        release(work)


def test_an_interruption_under_load_discards_the_cell_and_stops_the_load(begun):
    with begun(matrix={"requests": 2000}) as work:
        visit = ready(work)
        serving = visiting.serve(work, visit)
        threading.Timer(1.0, work.interruption.ask, ("SIGINT",)).start()

        with pytest.raises(Interrupted):
            measure_replication(work, serving, visit, "closed-2", 0)
        visiting.stop(work, serving, visit, None)

        assert names(work)[-2:] == ["discarded", "stopped"]
        release(work)


def test_a_step_beyond_the_budget_is_not_begun(begun):
    with begun(budget={"hours": 0.001}) as work:
        visit = ready(work)

        with pytest.raises(BudgetStop, match="a launch of a"):
            visiting.afford(work, visit, "closed-2")
        release(work)


def test_the_highest_rate_is_searched_apart_and_its_ends_are_to_be_proven(begun):
    with begun(matrix={"rates": "search", "requests": 60}) as work:
        visit = ready(work)
        assert work.needs_search("a")
        launch = searching.search_visit(work, "a")
        searching.begin_search(work, "a")
        serving = visiting.serve(work, launch)
        guess = searching.guess(work, serving, "a")
        tried = searching.try_rate(work, serving, "a", round(guess / 2))
        proof = searching.end_search(work, "a", [tried])
        visiting.stop(work, serving, launch, None)
        release(work)

        folder = work.store.folder.path
        assert guess > 10
        assert (folder / tried.records).exists()
        assert (folder / "search" / "a" / "launch" / "launch.json").exists()
        assert not work.needs_search("a")
        assert work.points(visit) == ("closed-2", *proof)
        assert read_run(folder).cells == ()


def test_who_is_voted_out_is_not_measured(begun):
    voted_out = {**CAMPAIGN["candidates"][0], "device": "nvidia-l4", "host": None}
    voted_out = {**voted_out, "device_count": 3, "tensor_parallel": 3}

    with (
        pytest.raises(NothingSurvives, match="rejected on paper"),
        begun(candidates=[voted_out]),
    ):
        pass


@pytest.mark.parametrize(
    ("budget", "said"), [({}, "nothing limits the cost"), ({"usd": 5}, "nobody agreed to pay")]
)
def test_machines_are_not_rented_without_a_budget_and_a_yes(begun, budget, said):
    rented = {
        "name": "B",
        "offer": "aws/p4de.24xlarge",
        "runtime": "vllm",
        "version": "0.6.3",
        "checkpoint": "hub",
    }

    with (
        pytest.raises(UsageError, match=said),
        begun(
            candidates=[rented],
            budget=budget,
            screening={"unlikely": "measure", "unknown": "measure"},
        ),
    ):
        pass


def cell(verdict="valid", **clauses):
    return {
        "verdict": verdict,
        "clauses": {name: {"verdict": said} for name, said in clauses.items()},
    }


def test_levels_above_one_that_missed_in_two_launches_are_skipped_and_said_so(begun):
    with begun(matrix={"concurrency": [1, 2, 4, 8]}) as work:
        first, second = work.plan.order
        missed = cell(ttft="misses", itl="holds")

        work.learn_cell(first, "closed-4", missed, 1.0)
        assert work.skipped(second, "closed-8") is None
        work.learn_cell(second, "closed-4", missed, 1.0)

        assert work.skipped(second, "closed-8") == "above a proven miss (closed-4)"
        assert [
            work.skipped(second, name) for name in ("closed-1", "closed-2", "closed-4")
        ] == [
            None,
            None,
            None,
        ]
        visiting.todo(work, second)
        assert names(work) == ["skipped"]


def test_a_resumed_run_skips_what_an_undisturbed_one_would_have_skipped(begun):
    one_slot = {**CAMPAIGN["candidates"][0], "settings": {"max_sequences": 1}}
    slo = {"ttft": "300 ms", "itl": "500 ms"}
    asked = {
        "contract": {**CAMPAIGN["contract"], "output_tokens": 16, "slo": slo},
        "candidates": [one_slot],
        "matrix": {"concurrency": [2, 8, 16], "replications": 3},
    }
    with begun(**asked) as work:
        first, second, last = work.plan.order
        ready(work)
        serving = visiting.serve(work, first)
        for visit in (first, second):
            measure_replication(work, serving, visit, "closed-8", 0)
        visiting.stop(work, serving, first, None)
        release(work)
        undisturbed = work.skipped(last, "closed-16")
        verdicts = [e.get("verdict") for e in read_run(work.store.folder.path).ledger]

    with begun(**asked, options={"resume": "latest"}) as again:
        assert again.skipped(last, "closed-16") == undisturbed
        if verdicts.count("valid") == 2:  # else this machine was too busy to prove anything
            assert undisturbed == "above a proven miss (closed-8)"
        assert 0 < again.cell_s("a", "closed-8") < 30


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": ("a",)}, "--only came too late"),
        ({"include_unknown": True}, "--include-unknown came too late"),
    ],
)
def test_a_run_that_is_gone_on_with_stays_what_it_was_begun_as(begun, options, said):
    with begun():
        pass

    with pytest.raises(UsageError, match=said), begun(options={"resume": "latest", **options}):
        pass


def test_another_file_is_not_the_one_that_a_run_was_begun_with(begun):
    with begun():
        pass

    with (
        pytest.raises(UsageError, match="is not the file that this run was begun with"),
        begun(matrix={"replications": 3}, options={"resume": "latest"}),
    ):
        pass


@pytest.mark.parametrize("wanted", ["latest", "20260101T000000Z-00000000"])
def test_there_must_be_such_a_run(begun, wanted):
    with (
        pytest.raises(UsageError, match="there is no such run"),
        begun(options={"resume": wanted}),
    ):
        pass


def test_a_real_run_is_not_gone_on_with_as_a_rehearsal(begun):
    real = {"name": "a", "host": "local", "runtime": "llama_server", "checkpoint": "dummy"}
    with begun(candidates=[real]):
        pass

    with (
        pytest.raises(UsageError, match="is no rehearsal"),
        begun(candidates=[real], options={"resume": "latest", "rehearse": True}),
    ):
        pass


def test_a_run_is_not_gone_on_with_by_another_catalog(begun, tmp_path):
    with begun():
        pass
    mine = tmp_path / "mine" / "models"
    mine.mkdir(parents=True)
    shipped = shipped_catalog() / "models" / "tiny-llama-19m.yaml"
    (mine / shipped.name).write_text(shipped.read_text() + "# mine\n")

    with (
        pytest.raises(UsageError, match="the catalog is not the one"),
        begun(options={"resume": "latest", "folders": (tmp_path / "mine",)}),
    ):
        pass


def test_a_cell_without_valid_evidence_proves_no_miss(begun):
    with begun(matrix={"concurrency": [1, 2, 4, 8]}) as work:
        for visit in work.plan.order:
            work.learn_cell(visit, "closed-4", cell("client-bound", ttft="misses"), 1.0)

        assert work.skipped(work.plan.order[0], "closed-8") is None


def test_one_who_came_up_once_is_given_up_after_two_failures_in_a_row(begun):
    failure = LaunchError("not ready", "launch of 'a'", "not ready within 60 s", "")
    with begun() as work:
        work.learn_launch("a", None)
        work.learn_launch("a", failure)
        assert not work.is_given_up("a")
        work.learn_launch("a", failure)

        assert work.skipped(work.plan.order[0], "closed-2") == (
            "failed launch: not ready within 60 s"
        )


def test_a_simulated_engine_spends_nothing_of_what_its_machine_would_cost(begun):
    dear = {**CAMPAIGN["candidates"][0], "assumptions": {"price": "$100000/h"}}
    with begun(candidates=[dear]) as work:
        acquire(work, "local")
        time.sleep(0.1)
        assert work.spending.usd(time.monotonic()) == 0
        release(work)


def test_a_resumed_run_counts_what_it_has_spent_before(begun):
    with begun() as work:
        work.record("spent", usd=1.5, seconds=60.0, wall_s=90.0)
        again = type(work)(
            work.store, work.plan, work.campaign, asked=work.asked, around=work.around
        )

        now_s = time.monotonic()
        assert again.spending.usd(now_s) == 1.5
        assert again.spending.machine_s(now_s) == 60.0
        assert again.spending.wall_s(now_s) >= 90.0
