from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.errors import RawError
from flows.load.raw import Connection, RawRequest, RawRun, RunFacts, read_raw, write_raw

FACTS = RunFacts(
    header={"cell": "c16", "seed": 42},
    anchor_monotonic_ns=1_000,
    anchor_unix_ns=1_700_000_000_000_000_000,
    zero_ns=2_000,
    started_ns=1_500,
    ended_ns=9_000,
    complete=True,
    warmup_converged=None,
    warmup_requests=0,
    window=(2_000, 3_000),
    client={"cpu_share": 0.1, "rtt_us": [40.0, 41.5]},
    connections=(
        Connection(
            id=0, endpoint=0, dns_us=None, connect_us=51.0, tls_us=None, opened_ns=1_400
        ),
    ),
)

TIMES = st.none() | st.integers(0, 2**62)

REQUESTS = st.builds(
    RawRequest,
    sequence=st.integers(0, 2**40),
    phase=st.sampled_from(["warmup", "measured", "drain"]),
    session=st.integers(0, 2**40),
    turn=st.integers(0, 100),
    endpoint=st.integers(0, 9),
    prompt_id=st.integers(0, 2**40),
    prompt_tokens=st.none() | st.integers(0, 10**6),
    output_tokens=st.integers(0, 10**6),
    connection=st.none() | st.integers(0, 10**6),
    reused=st.booleans(),
    reconnected=st.booleans(),
    scheduled_ns=TIMES,
    slot_free_ns=TIMES,
    sent_ns=TIMES,
    first_byte_ns=TIMES,
    done_ns=TIMES,
    status=st.none() | st.integers(100, 599),
    outcome=st.sampled_from(
        ["complete", "connect", "reset", "timed_out", "cancelled", "not_sent"]
    ),
    error=st.text(),
    content_type=st.sampled_from(["", "text/event-stream"]),
    fragments=st.just([]),
    stamps_ns=st.just(array("q")),
).flatmap(
    lambda request: st.lists(st.tuples(st.binary(), st.integers(0, 2**62)), max_size=6).map(
        lambda pairs: RawRequest(
            **{
                **{name: getattr(request, name) for name in RawRequest.__slots__},
                "fragments": [body for body, _ in pairs],
                "stamps_ns": array("q", [stamp for _, stamp in pairs]),
            }
        )
    )
)


@given(requests=st.lists(REQUESTS, max_size=5))
def test_what_is_written_is_what_is_read(tmp_path_factory, requests):
    path = tmp_path_factory.mktemp("raw") / "run.raw"

    write_raw(path, FACTS, iter(requests))

    facts = {name: getattr(FACTS, name) for name in RunFacts.__slots__}
    assert read_raw(path) == RawRun(**facts, requests=tuple(requests))


def test_nothing_but_the_raw_file_is_left_beside_it(tmp_path):
    write_raw(tmp_path / "run.raw", FACTS, [])

    assert [path.name for path in tmp_path.iterdir()] == ["run.raw"]


def test_an_interrupted_writer_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "run.raw"
    write_raw(path, FACTS, [])
    before = path.read_bytes()

    def broken():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        write_raw(path, FACTS, broken())

    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run.raw"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:5],
        lambda whole: b"PARQUET??" + whole[9:],
        lambda whole: whole[:9] + b"\x63" + whole[10:],
        lambda _: b"",
    ],
    ids=["last byte", "half", "head only", "other magic", "other version", "empty"],
)
def test_a_file_that_is_not_whole_is_refused_by_name(tmp_path, damage):
    path = tmp_path / "run.raw"
    write_raw(path, FACTS, [])
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(RawError, match=r"run\.raw"):
        read_raw(path)


def test_an_absent_file_is_refused_by_name(tmp_path):
    with pytest.raises(RawError, match="nowhere"):
        read_raw(tmp_path / "nowhere")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RawError, match="missing"):
        write_raw(tmp_path / "missing" / "run.raw", FACTS, [])
