"""A run directory is concluded from its evidence alone, the same way every time."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from reports.conclude import conclude
from reports.errors import DiskError, ReportsError
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.plan_file import LoadPoint, OfflineFacts
from reports.run.read import file_text, read_run
from tests.reports.run.builder import (
    CLOSED,
    CONTRACT,
    NOW,
    POISSON,
    QUICK,
    B,
    C,
    Made,
    build_run,
)

WRITTEN = (layout.SUMMARY, layout.CHECKS, layout.DECISION)


def texts(folder):
    return [folder.file(name).read_text() for name in WRITTEN]


def test_the_cheaper_of_two_that_hold_the_contract_is_chosen(tmp_path):
    folder = build_run(tmp_path)

    found = conclude(folder, now=NOW)

    assert (found.decision.chosen, found.decision.exit_code) == ("B", 0)
    assert found.decision.stamp == "MEASURED"
    assert [each.standing for each in found.decision.ranking] == [
        "complies",
        "complies",
        "voted out on paper",
        "voted out on paper",
    ]


def test_what_is_written_reads_back_as_what_was_returned(tmp_path):
    folder = build_run(tmp_path, **QUICK)
    found = conclude(folder, now=NOW)
    run = read_run(folder.path)

    assert (run.summary, run.checks, run.decision) == (
        found.summary,
        found.checks,
        found.decision,
    )


def test_concluding_again_writes_the_same_bytes(tmp_path):
    folder = build_run(tmp_path, **QUICK)
    conclude(folder, now=NOW)
    first = texts(folder)
    conclude(folder, now=NOW)

    assert texts(folder) == first


def test_a_slow_candidate_misses_and_leaves_the_other(tmp_path):
    folder = build_run(tmp_path, [Made(name="B", itl_ms=40.0), C])

    decision = conclude(folder, now=NOW).decision

    assert decision.chosen == "C"
    assert decision.of("B").standing == "misses"
    assert decision.of("B").limiter.what == "itl"


def test_a_slow_first_token_without_a_queue_is_the_prefill(tmp_path):
    folder = build_run(tmp_path, [Made(ttft_ms=1500.0)])

    assert conclude(folder, now=NOW).decision.of("B").limiter.what == "ttft"


def test_too_short_cells_are_stamped_exploratory_and_block_a_signoff(tmp_path):
    folder = build_run(tmp_path, (B, C), **QUICK)

    decision = conclude(folder, now=NOW).decision

    assert decision.stamp == "EXPLORATORY"
    assert any("enough-requests" in blocker for blocker in decision.blockers)


def test_a_rehearsal_is_stamped_on_its_decision(tmp_path):
    folder = build_run(tmp_path, (B, C), rehearsal=True, **QUICK)

    assert conclude(folder, now=NOW).decision.stamp == "REHEARSAL"


def test_a_late_client_voids_the_cell(tmp_path):
    shard = {
        "client": {
            "send_lag_ms_p99": 0.2,
            "loop_lag_ms_p99": 40.0,
            "cpu_share": 0.99,
            "in_flight_peak": 4,
            "rtt_us": [],
            "plan_ran_out": False,
        },
        "complete": True,
        "warmup_converged": None,
        "warmup_requests": 20,
        "connections": {"opened": 4, "dns_us": None, "connect_us": None, "tls_us": None},
    }
    folder = build_run(tmp_path, [Made(client={"shards": [shard]})], **QUICK)

    decision = conclude(folder, now=NOW).decision

    assert decision.of("B").standing == "no valid evidence"
    assert (decision.outcome, decision.exit_code) == ("inconclusive", 7)


def test_rates_beyond_what_a_candidate_holds_end_its_bracket(tmp_path):
    heavy = LoadPoint(name="poisson-2", process="poisson", rate_per_s=2.0)
    folder = build_run(tmp_path, [Made(holds_rate=1.0)], points=(CLOSED[4], POISSON, heavy))

    bracket = conclude(folder, now=NOW).decision.of("B").held_rate
    assert (bracket.highest_proven, bracket.lowest_disproven) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("goal", "outcome"), [(300_000.0, "chosen"), (5_000_000.0, "none complies")]
)
def test_offline_work_is_judged_over_the_family_of_levels(tmp_path, goal, outcome):
    slo = CONTRACT.slo.model_copy(update={"ttft_ms": None, "itl_ms": None, "goodput": None})
    contract = CONTRACT.model_copy(
        update={"slo": slo, "offline": OfflineFacts(tokens_per_hour=goal)}
    )
    points = (CLOSED[1], CLOSED[4])
    folder = build_run(tmp_path, [B], contract=contract, points=points, decision_point=None)

    decision = conclude(folder, now=NOW).decision

    assert decision.outcome == outcome
    assert decision.of("B").decision_point == "closed-4"


def test_a_folder_without_a_plan_is_refused(tmp_path):
    with pytest.raises(ReportsError, match=r"plan\.json"):
        conclude(RunFolder(tmp_path), now=NOW)


def test_damaged_evidence_is_named(tmp_path):
    folder = build_run(tmp_path, (B,), **QUICK)
    broken = read_run(folder.path).cells[0].server
    broken.write_text("{")

    with pytest.raises(ReportsError, match=r"server\.json.*no JSON"):
        conclude(folder, now=NOW)


def test_files_hold_strict_json_with_sorted_keys(tmp_path):
    folder = build_run(tmp_path, (B,), **QUICK)
    found = conclude(folder, now=NOW)

    assert texts(folder) == [
        file_text(part) for part in (found.summary, found.checks, found.decision)
    ]
    assert not any(word in text for text in texts(folder) for word in ("NaN", "Infinity"))


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, DiskError), (errno.EDQUOT, DiskError), (errno.EACCES, ReportsError)],
    ids=["full", "quota", "forbidden"],
)
def test_a_disk_that_fills_up_meanwhile_is_told_apart_from_a_wrong_place(
    tmp_path, monkeypatch, number, kind
):
    folder = build_run(tmp_path, (B,), points=(CLOSED[4],), requests=20, duration_s=5.0)
    real = Path.open

    def refused(path, *words, **options):
        if path.name.startswith(f".{layout.CHECKS}"):
            raise OSError(number, os.strerror(number))
        return real(path, *words, **options)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(ReportsError, match=r"checks\.json: cannot be written") as raised:
        conclude(folder, now=NOW)

    assert type(raised.value) is kind
    assert not folder.file(layout.CHECKS).exists()
