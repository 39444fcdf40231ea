import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.errors import PlanError
from flows.load.plan import (
    Endpoint,
    Plan,
    PlanHeader,
    PlannedRequest,
    Tls,
    Warmup,
    read_plan,
    write_plan,
)

HEADER = PlanHeader(
    run="r",
    cell="c16",
    replication=1,
    shard=0,
    seed=42,
    endpoints=(
        Endpoint(url="http://127.0.0.1:8000/v1/completions", headers={"authorization": "k"}),
        Endpoint(url="https://127.0.0.1/v1/completions", tls=Tls(verify=True, ca="ca.pem")),
    ),
    arrival="open",
    concurrency=None,
    offered_rate=8.0,
    timeout_s=600.0,
    warmup=Warmup(mode="fixed", requests=50),
    measured_requests=200,
    duration_s=None,
    dialect="completions",
)


def request(sequence, **changes):
    whole = {
        "sequence": sequence,
        "at_ns": sequence * 1_000,
        "session": sequence,
        "turn": 0,
        "think_ns": 0,
        "endpoint": 0,
        "prompt_id": sequence,
        "prompt_tokens": 1024,
        "output_tokens": 128,
        "body": '{"prompt": "ä\\n\\u2028"}',
    }
    return PlannedRequest(**{**whole, **changes})


@given(
    bodies=st.lists(st.text(), max_size=5),
    concurrency=st.none() | st.integers(1, 4096),
    prompt_tokens=st.none() | st.integers(0, 10**6),
)
def test_what_is_written_is_what_is_read(tmp_path_factory, bodies, concurrency, prompt_tokens):
    path = tmp_path_factory.mktemp("plan") / "plan.jsonl"
    header = dataclasses.replace(HEADER, concurrency=concurrency)
    requests = tuple(
        request(i, body=body, prompt_tokens=prompt_tokens) for i, body in enumerate(bodies)
    )

    write_plan(path, header, requests)

    assert read_plan(path) == Plan(header=header, requests=requests)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arrival": "closed"}, "closed loop needs concurrency"),
        ({"arrival": "bursty"}, "arrival is 'bursty'"),
        ({"dialect": "grpc"}, "dialect is 'grpc'"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"duration_s": 5.0}, "exactly one of"),
        ({"measured_requests": None}, "exactly one of"),
        ({"endpoints": ()}, "no endpoint"),
        ({"format": 2}, "plan format 2"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(changes, words):
    with pytest.raises(PlanError, match=words):
        dataclasses.replace(HEADER, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "lucky"}, "mode"),
        ({"requests": -1}, "requests"),
        ({"window": 0}, "window is 0"),
        ({"windows": 1}, "windows is 1"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_a_warmup_that_can_never_end_as_told_is_refused(changes, words):
    with pytest.raises(PlanError, match=words):
        Warmup(**changes)


@pytest.mark.parametrize(
    ("arrival", "requests", "words"),
    [
        ("open", [request(0, endpoint=2)], "endpoint"),
        ("open", [request(0, at_ns=None)], "at_ns is None"),
        ("closed", [request(0)], "at_ns is 0"),
        ("open", [request(0, at_ns=5), request(1, at_ns=4)], "before the line above"),
        ("open", [request(0), request(1, session=0, turn=2, at_ns=None)], "turn 2 is not 1"),
        ("open", [request(0, turn=1, at_ns=None)], "turn 1 is not 0"),
    ],
)
def test_requests_that_contradict_the_header_are_refused(arrival, requests, words):
    header = dataclasses.replace(HEADER, arrival=arrival, concurrency=4)

    with pytest.raises(PlanError, match=words):
        Plan(header=header, requests=tuple(requests))


def test_a_broken_line_is_named_with_file_and_line(tmp_path):
    path = tmp_path / "plan.jsonl"
    write_plan(path, HEADER, [request(0)])
    path.write_text(path.read_text() + '{"sequence": 1}\n')

    with pytest.raises(PlanError, match=r"plan\.jsonl:3"):
        read_plan(path)


def test_an_unknown_key_is_refused(tmp_path):
    path = tmp_path / "plan.jsonl"
    path.write_text(json.dumps({**dataclasses.asdict(HEADER), "surprise": 1}) + "\n")

    with pytest.raises(PlanError, match="surprise"):
        read_plan(path)


@pytest.mark.parametrize("text", ["", "[]\n", "not json\n", '{"format": 1}\n'])
def test_a_file_that_is_no_plan_is_refused(tmp_path, text):
    path = tmp_path / "plan.jsonl"
    path.write_text(text)

    with pytest.raises(PlanError, match=r"plan\.jsonl"):
        read_plan(path)


def test_an_absent_file_is_refused_by_name(tmp_path):
    with pytest.raises(PlanError, match="nowhere"):
        read_plan(tmp_path / "nowhere")
