"""A campaign's steps without Prefect, on simulated engines: launch, cells, death, search."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from dataclasses import replace

import pytest
import yaml

from catalog.load import shipped_catalog
from flows import opening, searching, visiting
from flows.clocks import look_visit
from flows.compare import surroundings
from flows.errors import (
    BudgetStop,
    InfrastructureError,
    LaunchError,
    NothingSurvives,
    UsageError,
)
from flows.foretelling import learn_from_first_launch
from flows.interruption import Interrupted
from flows.measure import measure_replication
from flows.progress import Progress
from flows.provision import acquire, describe, release
from flows.taking_up import Options, taken_up
from flows.underway import utc_now
from reports.conclude import conclude
from reports.manifest import verify
from reports.render import render_run
from reports.run.ledger_file import read_ledger
from reports.run.prediction_file import PredictionFile
from reports.run.read import read_file, read_run

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


def test_what_a_run_predicts_is_frozen_and_the_next_one_starts_from_its_cells(begun):
    with begun() as work:
        visit = ready(work)
        serving = visiting.serve(work, visit)
        measure_replication(work, serving, visit, "closed-2", 0)
        learn_from_first_launch(work, "a")
        visiting.stop(work, serving, visit, None)
        release(work)
        folder = work.store.folder
        before = read_file(folder.file("prediction.json"), PredictionFile)
        later = read_file(folder.prediction("a"), PredictionFile)
        written = folder.prediction("a").read_bytes()
        learn_from_first_launch(work, "a")
        conclude(folder, now=utc_now())

        assert "step times are settings" in before.candidates[0].unknown
        assert later.stage == "after-first-launch"
        assert later.candidates[0].cells[0].endswith("/0.parquet")
        assert later.candidates[0].load("closed-2").figures["tpot_p95_ms"].p50 > 0
        assert folder.prediction("a").read_bytes() == written
        assert folder.file("prediction_score.json").is_file()
    with begun(matrix={"concurrency": [1, 2]}) as again:
        found = read_file(again.store.folder.file("prediction.json"), PredictionFile)

        assert found.candidates[0].unknown is None
        assert found.candidates[0].cells[0].startswith(work.plan.run)
        assert {each.load_point for each in found.candidates[0].loads} == {
            "closed-1",
            "closed-2",
        }


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
        expected = searching.expect(work, "a", guess, [])
        tried = searching.try_rate(work, serving, "a", round(guess / 2), expected)
        proof = searching.end_search(work, "a", [tried])
        visiting.stop(work, serving, launch, None)
        release(work)

        folder = work.store.folder.path
        assert guess > 10
        assert expected.p10 <= tried.predicted.p50 == expected.p50 <= expected.p90
        assert (folder / tried.records).exists()
        assert (folder / "search" / "a" / "launch" / "launch.json").exists()
        assert not work.needs_search("a")
        assert set(work.points(visit)) == {"closed-2", *proof}
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


@pytest.mark.parametrize("begins", [True, False], ids=["begun", "gone on with"])
def test_a_machine_of_ones_own_is_not_to_be_kept_on_failure(begun, begins):
    options = {"keep_on_failure_s": 60.0}
    if not begins:
        with begun():
            options["resume"] = "latest"

    with (
        pytest.raises(UsageError, match="no machine of this campaign is rented"),
        begun(options=options),
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


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_run_that_is_refused_before_its_first_step_leaves_no_directory(begun, is_begun):
    def refused(work):
        if is_begun:
            work.record("acquiring", host="local")
        raise InfrastructureError("host local", "somebody has it", "Wait")

    with pytest.raises(InfrastructureError, match="somebody has it"), begun() as work:
        refused(work)

    assert work.store.folder.path.exists() is is_begun


def left_as_it_was(begun, said, **options):
    """What a refused resumption has changed of the run."""
    with begun() as work:
        folder = work.store.folder.path
    (folder / "signoff.json").write_text("{}")
    before = written(folder)
    with (
        pytest.raises(UsageError, match=said),
        begun(options={"resume": "latest", **options}),
    ):
        pass
    return written(folder) == before


def written(folder):
    """What of each path changes when it is written, but not when it is read."""
    found = {path: path.stat() for path in folder.rglob("*")}
    return {path: (of.st_ino, of.st_size, of.st_mtime_ns) for path, of in found.items()}


def test_a_signed_run_is_never_gone_on_with(begun):
    assert left_as_it_was(begun, "a signed run is never altered")


def test_a_rehearsal_is_refused_its_quality_before_anything_is_touched(begun):
    assert left_as_it_was(begun, "simulated engines give no answers", for_quality=True)


def test_a_concluded_run_to_which_nothing_is_left_keeps_its_manifest(begun):
    with begun() as work:
        folder = work.store.folder
        visit = ready(work)
        serving = visiting.serve(work, visit)
        for visit in work.plan.order:
            measure_replication(work, serving, visit, "closed-2", 0)
        visiting.stop(work, serving, visit, None)
        release(work)
        conclude(folder, now=utc_now())
        render_run(folder, now=utc_now())
    manifest = folder.file("manifest.json").read_bytes()

    with begun(options={"resume": "latest"}) as again:
        assert again.is_whole
    assert folder.file("manifest.json").read_bytes() == manifest
    assert verify(folder) == ()

    folder.file("report.html").unlink()
    with begun(options={"resume": "latest"}) as again:
        assert not again.is_whole
        assert names(again)[-1] == "resumed"


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


@pytest.mark.parametrize("launch", ["production", "look"])
def test_a_launch_for_the_clocks_sake_that_fails_gives_nobody_up(begun, launch):
    def fail(_plan):
        raise LaunchError("not ready", "launch of 'a'", "as the test wishes", "")

    with begun() as work:
        visit = ready(work)
        if launch == "look":
            visit, folder = look_visit(work, "a"), "clocks/a/launch"
        else:
            visit = visit.model_copy(update={"load_points": ("closed-2-production",)})
            folder = "launch/a/0/production"
        work.prepared["a"] = replace(work.prepared["a"], finished=fail)

        with pytest.raises(LaunchError) as failed:
            visiting.serve(work, visit)
        visiting.lose(work, visit, failed.value)

        (entry,) = [
            each
            for each in read_ledger(work.store.folder.file("ledger.jsonl"))
            if each["event"] == "launch-failed"
        ]
        assert not work.is_given_up("a")
        assert (entry.get("production"), entry["replication"]) == (
            (True, 0) if launch == "production" else (None, None)
        )
        assert work.launch_folder(visit) == work.store.folder.path / folder
        assert work.launch_folder(visit).is_dir()
        release(work)


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
