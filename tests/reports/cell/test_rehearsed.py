"""From a real server's bytes through the load process to records and verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

from flows.load.parse import parse_run
from flows.load.plan import Endpoint, PlanHeader, PlannedRequest, Warmup, write_plan
from flows.load.raw import read_raw
from flows.rehearsal import Failure, Rule, Settings, StepModel, StreamShape, WireShape, start
from reports.cell import CellSettings, ClientHealth, Observed, Slo, Verdict, summarise
from reports.columns import NULL, columns_of
from reports.records import Anchor, Records, read_records, write_records

pytestmark = pytest.mark.e2e

TOKENS = 12
STEPS = StepModel(decode_base_ms=4.0, prefill_base_ms=6.0)


def plan_of(url, bodies, *, dialect="chat", streams=1, at_ns=None, warmup=0):
    path = "/v1/chat/completions" if dialect == "chat" else "/v1/completions"
    header = PlanHeader(
        run="run",
        cell="cell",
        replication=0,
        shard=0,
        seed=1,
        endpoints=(Endpoint(url=url + path),),
        arrival="closed" if at_ns is None else "open",
        concurrency=streams,
        offered_rate=None,
        timeout_s=1.0,
        warmup=Warmup(mode="fixed", requests=warmup),
        measured_requests=len(bodies) - warmup,
        duration_s=None,
        dialect=dialect,
    )
    requests = [
        PlannedRequest(
            sequence=number,
            at_ns=None if at_ns is None else at_ns[number],
            session=number,
            turn=0,
            think_ns=0,
            endpoint=0,
            prompt_id=number,
            prompt_tokens=8,
            output_tokens=TOKENS,
            body=json.dumps(body),
        )
        for number, body in enumerate(bodies)
    ]
    return header, requests


def body_of(dialect="chat", **options):
    asked = {"model": "rehearsal", "max_tokens": TOKENS, "stream": True, "ignore_eos": True}
    if options.pop("usage", True):
        asked["stream_options"] = {"include_usage": True}
    content = "alpha beta gamma"
    prompt = (
        {"messages": [{"role": "user", "content": content}]}
        if dialect == "chat"
        else {"prompt": [7, 8, 9, 10, 11, 12, 13, 14]}
    )
    return {**asked, **prompt, **options}


def measured(settings, folder, plan_args):
    """Records of a real run against a real server, written and read back."""
    with start(settings) as server:
        bodies, options = plan_args
        header, requests = plan_of(server.url, bodies, **options)
        write_plan(folder / "plan", header, requests)
        subprocess.run(
            [sys.executable, "-P", "-m", "flows.load", folder / "plan", folder / "raw"],
            check=True,
            timeout=60,
        )
    raw = read_raw(folder / "raw")
    columns = columns_of(
        parse_run(raw).lists(), run="run", cell="cell", replication=0, launch=None, shard=0
    )
    anchor = Anchor(monotonic_ns=raw.anchor_monotonic_ns, unix_ns=raw.anchor_unix_ns)
    write_records(folder / "records", Records(columns=columns, anchor=anchor))
    return read_records(folder / "records").columns, raw


@dataclass(frozen=True)
class Case:
    """How one answer is shaped or spoilt, and what must be read from it."""

    name: str
    outcome: str
    stream: dict = field(default_factory=dict)
    failure: Failure | None = None
    asked: dict = field(default_factory=dict)
    expected: dict = field(default_factory=dict)


CONTINUOUS = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
ONE_EACH = {"output_tokens": TOKENS, "output_chunks": TOKENS, "finish_reason": "length"}
CASES = [
    Case("plain", "ok", expected=ONE_EACH),
    Case("role content null", "ok", {"role_content": "null"}, expected=ONE_EACH),
    Case("role content absent", "ok", {"role_content": "absent"}, expected=ONE_EACH),
    Case("role chunk early", "ok", {"first_chunk_at": "arrival"}, expected=ONE_EACH),
    Case("empty chunks", "ok", {"empty_chunk_every": 3}, expected=ONE_EACH),
    Case("usage in each chunk", "ok", asked=CONTINUOUS, expected=ONE_EACH),
    Case(
        "four tokens a chunk",
        "ok",
        {"tokens_per_chunk": 4},
        expected={"output_tokens": TOKENS, "output_chunks": 3},
    ),
    Case(
        "four tokens a chunk, usage in each",
        "ok",
        {"tokens_per_chunk": 4},
        asked=CONTINUOUS,
        expected={"output_tokens": TOKENS, "chunk_tokens_source": "usage"},
    ),
    Case("usage never", "ok", {"usage": "never"}, expected={"output_tokens": NULL}),
    Case("usage with the last choice", "ok", {"usage": "last_choice"}, expected=ONE_EACH),
    Case("usage null before", "ok", {"usage_null": True}, expected=ONE_EACH),
    Case("reasoning", "ok", {"reasoning_tokens": 5}, expected=ONE_EACH),
    Case(
        "reasoning, other field",
        "ok",
        {"reasoning_tokens": 5, "reasoning_field": "reasoning"},
        expected=ONE_EACH,
    ),
    Case("tool call", "ok", {"tool_call": True}, expected={"output_tokens": TOKENS}),
    Case("unicode", "ok", {"text": "unicode"}, expected=ONE_EACH),
    Case("escaped", "ok", {"text": "escaped"}, expected=ONE_EACH),
    Case("finish apart", "ok", {"finish_chunk": "separate"}, expected=ONE_EACH),
    Case("no finish reason", "ok", {"finish_reason": False}, expected={"finish_reason": None}),
    Case("no end mark", "ok", {"done": False}, expected=ONE_EACH),
    Case("crlf", "ok", {"line_end": "crlf"}, expected=ONE_EACH),
    Case("cr", "ok", {"line_end": "cr"}, expected=ONE_EACH),
    Case("no space", "ok", {"space_after_colon": False}, expected=ONE_EACH),
    Case("data on many lines", "ok", {"multiline_data": True}, expected=ONE_EACH),
    Case("event fields", "ok", {"event_fields": True}, expected=ONE_EACH),
    Case("comments", "ok", {"comment_every": 2}, expected=ONE_EACH),
    Case(
        "not streamed",
        "ok",
        asked={"stream": False, "usage": False},
        expected={"output_chunks": 1},
    ),
    Case(
        "error inside",
        "failed_in_band",
        failure=Failure(kind="error", at_token=3, message="engine died"),
        expected={"error": "engine died", "output_chunks": 3},
    ),
    Case(
        "error as event",
        "failed_in_band",
        failure=Failure(kind="error", at_token=3, message="engine died", as_event=True),
        expected={"error": "engine died"},
    ),
    Case("error at once", "failed_in_band", failure=Failure(kind="error", at_token=0)),
    Case(
        "error without end mark",
        "failed_in_band",
        failure=Failure(kind="error", at_token=3, done_after=False),
    ),
    Case("garbage", "failed_in_band", failure=Failure(kind="garbage", at_token=3)),
    Case("truncated", "truncated", failure=Failure(kind="truncate", at_token=3)),
    Case("nothing at all", "failed_in_band", failure=Failure(kind="truncate", at_token=0)),
    Case("cut off", "failed_reset", failure=Failure(kind="close", at_token=3)),
    Case("reset", "failed_reset", failure=Failure(kind="reset", at_token=3)),
    Case("hang", "timed_out", failure=Failure(kind="hang", at_token=3)),
    Case(
        "too many requests",
        "failed_http",
        failure=Failure(kind="status", status=429, message="slow down"),
        expected={"http_status": 429, "error": "slow down"},
    ),
    Case(
        "a page",
        "failed_http",
        failure=Failure(kind="status", status=502, body="html"),
        expected={"http_status": 502},
    ),
]


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """One answer of each kind, from one server, one after the other."""
    rules = tuple(
        Rule(requests=(number,), failure=case.failure, stream=case.stream)
        for number, case in enumerate(CASES)
        if case.failure or case.stream
    )
    bodies = [body_of(**case.asked) for case in CASES]
    settings = Settings(steps=STEPS, rules=rules)
    return measured(settings, tmp_path_factory.mktemp("shapes"), (bodies, {}))[0]


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case.name for case in CASES])
def test_each_kind_of_answer_is_read_for_what_it_is(shapes, place):
    case = CASES[place]

    assert shapes.outcome[place] == case.outcome, shapes.error[place]
    for name, value in case.expected.items():
        assert getattr(shapes, name)[place] == value, name
    if case.outcome == "ok":
        assert shapes.first_token_ns[place] > shapes.scheduled_ns[place]
        tokens = shapes.chunk_tokens[
            shapes.chunk_offsets[place] : shapes.chunk_offsets[place + 1]
        ]
        assert tokens.sum() == pytest.approx(TOKENS, rel=1e-5) or "never" in case.name


def test_the_role_chunk_does_not_end_ttft(shapes):
    early = next(place for place, case in enumerate(CASES) if case.name == "role chunk early")

    waited_ms = (shapes.first_token_ns[early] - shapes.first_byte_ns[early]) / 1e6
    assert waited_ms > 3


def test_the_answer_begins_behind_the_reasoning(shapes):
    place = next(place for place, case in enumerate(CASES) if case.name == "reasoning")

    thought_ms = (shapes.first_answer_ns[place] - shapes.first_token_ns[place]) / 1e6
    assert thought_ms > 4 * STEPS.decode_base_ms


def test_tpot_counts_tokens_however_many_a_chunk_holds(shapes):
    names = [case.name for case in CASES]
    settings = CellSettings(slo=Slo(), arrival="closed", concurrency=1)

    def tpot(name):
        which = np.arange(len(shapes)) == names.index(name)
        return summarise(shapes.where(which), settings).measures["tpot"].ok.mean

    assert tpot("four tokens a chunk") == pytest.approx(tpot("plain"), rel=0.5)


def test_the_sums_of_all_kinds_add_up(shapes):
    settings = CellSettings(slo=Slo(), arrival="closed", planned_requests=len(CASES))
    counts = summarise(shapes, settings).counts

    assert counts["planned"] == counts["sent"] == len(CASES)
    assert counts["ok"] == sum(case.outcome == "ok" for case in CASES)
    assert counts["failed"] == sum(case.outcome.startswith("failed") for case in CASES)
    assert (counts["truncated"], counts["timed_out"]) == (1, 1)


@pytest.mark.parametrize(
    "wire",
    [
        WireShape(split_bytes=7),
        WireShape(stream_body="close"),
        WireShape(stream_body="length"),
        WireShape(http_chunk_bytes=11),
    ],
    ids=["seven bytes a segment", "until close", "with length", "http chunks of eleven"],
)
def test_the_framing_of_the_body_changes_nothing(tmp_path, wire):
    bodies = [body_of("completions")] * 3
    columns, _ = measured(
        Settings(steps=STEPS, wire=wire), tmp_path, (bodies, {"dialect": "completions"})
    )

    assert columns.outcome.tolist() == ["ok"] * 3
    assert columns.output_chunks.tolist() == [TOKENS] * 3
    assert columns.output_tokens.tolist() == [TOKENS] * 3


def test_a_proxy_that_buffers_is_seen(tmp_path):
    bodies = [body_of("completions")] * 8
    settings = Settings(steps=STEPS, wire=WireShape(bunch_ms=25))
    columns, _ = measured(settings, tmp_path, (bodies, {"dialect": "completions"}))
    cell = CellSettings(slo=Slo(ttft_ms=1000, itl_ms=25), arrival="closed", concurrency=1)
    summary = summarise(columns, cell)

    assert "ITL not observable here" in summary.to_json()["problems"]
    assert summary.clauses["itl"].verdict == "inconclusive"


def test_an_honest_poisson_cell_is_valid(tmp_path):
    rng = np.random.default_rng(3)
    at_ns = np.rint(np.cumsum(rng.exponential(1e9 / 40, 150))).astype(int).tolist()
    bodies = [body_of("completions")] * 150
    options = {"dialect": "completions", "streams": None, "at_ns": at_ns, "warmup": 30}
    columns, raw = measured(
        Settings(steps=STEPS, stream=StreamShape()), tmp_path, (bodies, options)
    )
    # A shared test machine may be late with a send: the client's health is not judged here.
    cell = CellSettings(
        slo=Slo(ttft_ms=5000, itl_ms=500, goodput=0.9),
        arrival="poisson",
        offered_rate=40.0,
        output_tokens=TOKENS,
        planned_requests=150,
    )
    health = ClientHealth.of({"rtt_us": raw.client["rtt_us"]})
    summary = summarise(columns, cell, Observed(clients=(health,)))

    assert summary.verdict == Verdict.VALID, summary.problems
    assert summary.exit_code == 0
    assert summary.little is not None
    assert summary.little.deviation < 1e-9
