"""Shards become one cell: one window, every request once."""

from __future__ import annotations

import sys
from array import array
from dataclasses import replace

import numpy as np
import pytest

from deploy_templates.plan import AnswerField
from flows.bench.calibrate import Calibration, level_of
from flows.bench.merge import merged
from flows.bench.null_server import TOKENS
from flows.bench.show import show_calibration
from flows.console import Console
from flows.errors import InfrastructureError
from flows.load.raw import RawRequest, RawRun, RunFacts, write_raw

CHUNK = b'data: {"choices": [{"index": 0, "text": " word", "finish_reason": null}]}\n\n'
LAST = CHUNK.replace(b"null", b'"length"') + b"data: [DONE]\n\n"


def request(sequence, phase, due_ns, *, tokens=2, first_ns=50, gap_ns=10, **changes):
    stamps = [due_ns + first_ns + gap_ns * i for i in range(tokens)]
    usual = {
        "sequence": sequence,
        "phase": phase,
        "session": sequence,
        "turn": 0,
        "endpoint": sequence % 2,
        "prompt_id": sequence,
        "prompt_tokens": 4,
        "output_tokens": tokens,
        "connection": 0,
        "reused": True,
        "reconnected": False,
        "scheduled_ns": due_ns,
        "slot_free_ns": None,
        "sent_ns": due_ns + 1,
        "first_byte_ns": stamps[0],
        "done_ns": stamps[-1],
        "status": 200,
        "outcome": "complete",
        "error": "",
        "content_type": "text/event-stream",
        "fragments": [CHUNK] * (tokens - 1) + [LAST],
        "stamps_ns": array("q", stamps),
    }
    return RawRequest(**{**usual, **changes})


def facts(window, **changes):
    usual = {
        "header": {"dialect": "completions"},
        "anchor_monotonic_ns": 10,
        "anchor_unix_ns": 1_700_000_000_000_000_000,
        "zero_ns": 0,
        "started_ns": 0,
        "ended_ns": 9_000,
        "complete": True,
        "warmup_converged": True,
        "warmup_requests": 1,
        "window": window,
        "client": {
            "wall_s": 2.0,
            "cpu_s": 0.5,
            "cpu_share": 0.25,
            "send_lag_ms_p99": 0.1,
            "loop_lag_ms_p99": None,
        },
        "connections": (),
    }
    return RunFacts(**{**usual, **changes})


@pytest.fixture
def shards(tmp_path):
    first = [
        request(0, "warmup", 100),
        request(2, "measured", 200),
        request(4, "measured", 900),
    ]
    second = [request(1, "warmup", 150), request(3, "measured", 600), request(5, "drain", 950)]
    write_raw(tmp_path / "a", facts((200, 900)), first)
    write_raw(tmp_path / "b", facts((600, 600), complete=False), second)
    return [tmp_path / "a", tmp_path / "b"]


def test_every_request_is_there_once_with_its_shard(spec_of, shards):
    columns = merged(spec_of(), shards, None).records.columns

    assert sorted(columns.sequence.tolist()) == [0, 1, 2, 3, 4, 5]
    assert columns.shard.tolist() == [0, 0, 0, 1, 1, 1]
    assert set(columns.cell.tolist()) == {"closed-c4"}


def test_what_answers_say_of_themselves_stays_with_their_requests(spec_of, shards):
    said = request(3, "measured", 600)
    usage = b'data: {"choices": [], "metrics": {"queue_time_ms": 40}}\n\n'
    said = replace(said, fragments=[*said.fragments, usage], stamps_ns=array("q", [1, 2, 3]))
    write_raw(shards[1], facts((600, 600)), [request(1, "warmup", 150), said])
    fields = {"queue_time": AnswerField(key="metrics.queue_time_ms", scale=0.001)}

    by_endpoint = merged(spec_of(), shards, None, {1: fields})
    elsewhere = merged(spec_of(), shards, None, {0: fields})

    assert by_endpoint.answered == ({}, {}, {}, {}, {"queue_time": 0.04})
    assert by_endpoint.records.columns.sequence.tolist() == [0, 2, 4, 1, 3]
    assert elsewhere.answered == ({},) * 5


def test_what_one_shard_measured_before_another_began_to_is_warmup(spec_of, shards):
    run = merged(spec_of(), shards, None)

    phases = dict(
        zip(
            run.records.columns.sequence.tolist(),
            run.records.columns.phase.tolist(),
            strict=True,
        )
    )
    assert run.window == (600, 900)
    assert [number for number, phase in phases.items() if phase == "measured"] == [4, 3]
    assert phases[2] == "warmup"


@pytest.mark.parametrize("converged", [None, False])
def test_where_each_shard_discards_what_was_planned_no_measured_request_is_lost(
    spec_of, tmp_path, converged
):
    first = [request(0, "measured", 200), request(2, "measured", 900)]
    second = [request(1, "measured", 600)]
    paths = [tmp_path / "a", tmp_path / "b"]
    write_raw(paths[0], facts((200, 900), warmup_converged=converged), first)
    write_raw(paths[1], facts((600, 600), warmup_converged=converged), second)

    run = merged(spec_of(num_requests=3, warmup_requests=0), paths, None)
    by_time = merged(spec_of(duration_s=3.0, warmup_requests=0), paths, None)

    assert run.window == (200, 900)
    assert run.records.columns.phase.tolist() == ["measured"] * 3
    assert by_time.window == (600, 900)
    assert by_time.records.columns.phase.tolist() == ["warmup", "measured", "measured"]


def test_our_requests_are_told_by_endpoint_and_unended_ones_stay_to_the_end(spec_of, shards):
    lost = request(6, "measured", 700, done_ns=None, outcome="cancelled")
    write_raw(shards[1], facts((600, 600)), [lost])

    even, odd = merged(spec_of(), shards, None).ours(2)

    assert even.sent_ns.tolist() == [101, 201, 901, 701]
    assert even.done_ns[3] > 1 << 61
    assert even.was_aborted.tolist() == [False, False, False, True]
    assert len(odd.sent_ns) == 0


def test_a_shard_that_measured_nothing_leaves_nothing_measured(spec_of, shards):
    write_raw(shards[1], facts(None), [request(1, "warmup", 150)])

    columns = merged(spec_of(), shards, None).records.columns

    assert "measured" not in columns.phase.tolist()


def test_the_clients_error_is_its_stamp_minus_the_time_of_the_write():
    recorded = [
        request(n, "measured", 0, tokens=TOKENS, first_ns=60_000_000 + 3_000, gap_ns=10_002_000)
        for n in range(2)
    ]
    before = [60_000_000 + 10_000_000 * i for i in range(TOKENS)]
    written = {n: (before, [time + 5_000 for time in before]) for n in range(2)}
    raw = RawRun(
        **{name: getattr(facts((0, 0)), name) for name in RunFacts.__dataclass_fields__},
        requests=tuple(recorded),
    )

    level = level_of(2, raw, written)

    assert level.bias_us_p50 == pytest.approx(3 + 2 * (TOKENS - 1) / 2)
    assert level.gap_error_ms_p99 == pytest.approx(0.002)
    assert level.chunks_per_s == 2 * TOKENS / 2.0
    assert level.cpu_us_per_chunk == pytest.approx(0.5e6 / (2 * TOKENS))
    assert level.is_trustworthy


def test_chunks_whose_write_was_held_up_say_nothing_of_the_client():
    before = [60_000_000 + 10_000_000 * i for i in range(TOKENS)]
    after = [time + (400_000 if i % 2 else 5_000) for i, time in enumerate(before)]
    late = [time + (390_000 if i % 2 else 3_000) for i, time in enumerate(before)]
    recorded = request(0, "measured", 0, tokens=TOKENS, stamps_ns=array("q", late))
    raw = RawRun(
        **{name: getattr(facts((0, 0)), name) for name in RunFacts.__dataclass_fields__},
        requests=(recorded,),
    )

    with pytest.raises(InfrastructureError, match="no whole answer"):
        level_of(1, raw, {})
    with pytest.raises(InfrastructureError, match="no whole answer"):
        level_of(1, raw, {0: (before, after)})  # no two writes in a row are known


def test_a_calibration_tells_the_rate_at_which_a_core_is_80_percent_busy(capsys):
    raw = RawRun(
        **{name: getattr(facts((0, 0)), name) for name in RunFacts.__dataclass_fields__},
        requests=(request(0, "measured", 0, tokens=TOKENS),),
    )
    truth = {0: (np.arange(TOKENS), np.arange(TOKENS) + 10)}
    calibration = Calibration(levels=(level_of(1, raw, truth),))

    show_calibration(Console(sys.stdout), calibration)

    assert calibration.ceiling_chunks_per_s == pytest.approx(0.8 * TOKENS / 0.5)
    assert calibration.to_json()["levels"][0]["streams"] == 1
    assert "80% of a core at about 205 chunks/s" in capsys.readouterr().out
