"""Arrival schedules have the statistics that their names promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load import arrivals
from flows.load.draws import Purpose, generator

NS_PER_S = 1e9


def shards(seed: int, count: int, replication: int = 0) -> list[np.random.Generator]:
    return [generator(seed, replication, Purpose.ARRIVALS, part) for part in range(count)]


def gaps_s(at_ns: np.ndarray) -> np.ndarray:
    return np.diff(at_ns) / NS_PER_S


def cv(at_ns: np.ndarray) -> float:
    gaps = gaps_s(at_ns)
    return float(gaps.std() / gaps.mean())


def fano(at_ns: np.ndarray, window_s: float) -> float:
    counts = np.bincount((at_ns / NS_PER_S / window_s).astype(int))[:-1]
    return float(counts.var() / counts.mean())


def draw(process: arrivals.Process, *, rate=50.0, count=40_000, burstiness=1.0, k=1, seed=42):
    return arrivals.schedule(
        process, rate, count, burstiness=burstiness, shards=shards(seed, k)
    )


def test_poisson_gaps_have_cv_one_fano_one_and_no_lag_correlation():
    at_ns = draw("poisson").at_ns

    lag1 = np.corrcoef(gaps_s(at_ns)[:-1], gaps_s(at_ns)[1:])[0, 1]
    assert cv(at_ns) == pytest.approx(1.0, abs=0.02)
    assert fano(at_ns, 1.0) == pytest.approx(1.0, abs=0.15)
    assert abs(lag1) < 0.02
    assert np.mean(gaps_s(at_ns)) == pytest.approx(1 / 50, rel=0.02)


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_gamma_gaps_have_the_cv_of_their_shape_and_keep_the_rate(burstiness: float):
    at_ns = draw("gamma", burstiness=burstiness).at_ns

    assert cv(at_ns) == pytest.approx(burstiness**-0.5, rel=0.05)
    assert len(at_ns) / (at_ns[-1] / NS_PER_S) == pytest.approx(50, rel=0.03)


def test_constant_arrivals_are_multiples_of_the_gap_to_the_nanosecond():
    at_ns = draw("constant", rate=8.0, count=5).at_ns

    assert at_ns.tolist() == [125_000_000 * i for i in range(1, 6)]


def test_no_process_forces_an_arrival_at_zero():
    for process in ("poisson", "gamma", "constant"):
        first = [draw(process, count=1, seed=seed).at_ns[0] for seed in range(300)]

        assert min(first) > 0, process
        assert np.mean(first) == pytest.approx(NS_PER_S / 50, rel=0.2), process


def test_the_first_gap_of_a_bursty_process_is_longer_than_its_mean_gap():
    """Zero falls into long gaps more often: E[first] = mean gap x (1 + CV²) / 2."""
    first = [
        draw("gamma", burstiness=0.25, count=1, seed=seed).at_ns[0] for seed in range(4_000)
    ]

    assert np.mean(first) == pytest.approx(0.02 * (1 + 4) / 2 * NS_PER_S, rel=0.1)


def test_shards_of_a_poisson_load_add_up_to_one_poisson_load():
    merged = draw("poisson", k=4)

    assert cv(merged.at_ns) == pytest.approx(1.0, abs=0.02)
    assert fano(merged.at_ns, 1.0) == pytest.approx(1.0, abs=0.15)
    assert np.bincount(merged.shard) == pytest.approx([10_000] * 4, rel=0.05)


def test_each_shard_of_a_poisson_load_is_a_poisson_load_of_its_own_share():
    merged = draw("poisson", k=4)
    one = merged.at_ns[merged.shard == 2]
    other = merged.at_ns[merged.shard == 3]

    assert cv(one) == pytest.approx(1.0, abs=0.04)
    assert np.mean(gaps_s(one)) == pytest.approx(4 / 50, rel=0.05)
    seconds = int(merged.at_ns[-1] / NS_PER_S)
    counts = [
        np.bincount((s / NS_PER_S).astype(int), minlength=seconds + 1) for s in (one, other)
    ]
    assert abs(np.corrcoef(*counts)[0, 1]) < 0.1


@pytest.mark.parametrize("process", ["constant", "gamma"])
def test_other_processes_keep_their_shape_over_shards_because_one_stream_is_dealt(process):
    whole = draw(process, burstiness=4.0, count=100)
    dealt = draw(process, burstiness=4.0, count=100, k=3)

    assert dealt.at_ns.tolist() == whole.at_ns.tolist()
    assert dealt.shard.tolist()[:4] == [0, 1, 2, 0]


@given(
    process=st.sampled_from(["poisson", "constant", "gamma"]),
    rate=st.floats(0.01, 10_000),
    count=st.integers(0, 200),
    burstiness=st.floats(0.1, 20),
    k=st.integers(1, 5),
    seed=st.integers(0, 2**63),
)
def test_a_schedule_is_monotone_whole_and_the_same_for_the_same_seed(
    process, count, k, **shape
):
    first, second = (draw(process, count=count, k=k, **shape) for _ in range(2))

    assert len(first.at_ns) == count
    assert (np.diff(first.at_ns) >= 0).all()
    assert (first.at_ns >= 0).all()
    assert first.at_ns.tolist() == second.at_ns.tolist()
    assert first.shard.tolist() == second.shard.tolist()
    assert set(first.shard.tolist()) <= set(range(k))


@given(short=st.integers(0, 100), more=st.integers(0, 100), seed=st.integers(0, 2**32))
def test_asking_for_more_arrivals_never_moves_the_earlier_ones(short, more, seed):
    for process in ("poisson", "gamma", "constant"):
        few = draw(process, count=short, seed=seed).at_ns
        many = draw(process, count=short + more, seed=seed).at_ns

        assert many[:short].tolist() == few.tolist()


def test_replications_and_purposes_have_streams_of_their_own():
    streams = {
        tuple(generator(42, replication, purpose, part).integers(0, 2**62, 4).tolist())
        for replication in range(3)
        for purpose in Purpose
        for part in range(3)
    }

    assert len(streams) == 3 * len(Purpose) * 3
