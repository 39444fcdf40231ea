"""Honest arrivals pass their audit, others do not."""

from __future__ import annotations

import numpy as np
import pytest

from reports.stats.arrivals import MIN_GAPS, arrivals, audit

RATE = 8.0


def times(gaps_s) -> np.ndarray:
    return np.rint(np.cumsum(gaps_s) * 1e9).astype(np.int64)


def statistics(found) -> set[str]:
    return {breach.statistic for breach in found}


def poisson(rng, count, rate=RATE):
    return times(rng.exponential(1 / rate, count))


def test_cv_fano_and_lag1_are_those_of_their_definitions():
    # Gaps 1, 3, 1, 3, ...: mean 2, deviation sqrt(20/19); each gap is the other of the last.
    found = arrivals(times([1, *[1, 3] * 10]))

    assert found.cv == pytest.approx(np.sqrt(20 / 19) / 2)
    assert found.lag1 == pytest.approx(-19 / 20)
    assert found.windows == 2
    assert found.fano == pytest.approx(np.var([10, 11], ddof=1) / 10.5)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_arrivals_have_no_shape(count):
    found = arrivals(times(np.ones(count)))

    assert (found.cv, found.fano, found.lag1) == (None, None, None)


def test_arrivals_at_one_instant_have_no_shape():
    assert arrivals(np.zeros(50, dtype=np.int64)).cv is None


def test_nine_of_ten_honest_poisson_runs_of_200_show_cv_089_to_111_and_fano_052_to_159():
    rng = np.random.default_rng(1)
    found = [arrivals(poisson(rng, 200)) for _ in range(2000)]

    low, high = np.quantile([run.cv for run in found], [0.05, 0.95])
    assert (low, high) == pytest.approx((0.89, 1.11), abs=0.01)
    low, high = np.quantile([run.fano for run in found], [0.05, 0.95])
    assert (low, high) == pytest.approx((0.52, 1.59), abs=0.06)


@pytest.mark.parametrize("count", [21, 60, 200, 1000])
@pytest.mark.parametrize("shape", [0.1, 0.25, 1.0, 4.0, 25.0])
def test_honest_renewal_arrivals_are_refused_fewer_than_once_in_a_thousand_runs(shape, count):
    rng = np.random.default_rng(2)
    runs = 4000 if count < 1000 else 1000
    refused = sum(
        bool(
            audit(
                times(rng.gamma(shape, 1 / (shape * RATE), count)),
                "gamma",
                rate_per_s=RATE,
                burstiness=shape,
            )
        )
        for _ in range(runs)
    )

    assert refused <= 4  # one in a thousand; the seeds here give 0 to 2


def test_a_sender_that_adds_a_tenth_of_a_millisecond_at_1000_per_second_is_honest():
    rng = np.random.default_rng(3)
    sent = poisson(rng, 20_000, 1000) + rng.exponential(1e5, 20_000).astype(np.int64)

    assert audit(np.sort(sent), "poisson", rate_per_s=1000) == []


def test_constant_arrivals_called_poisson_are_refused():
    assert "cv" in statistics(audit(times(np.full(200, 1 / RATE)), "poisson", rate_per_s=RATE))


def test_exponential_gaps_called_constant_are_refused():
    rng = np.random.default_rng(4)

    assert statistics(audit(poisson(rng, 200), "constant", rate_per_s=RATE)) >= {"cv"}


@pytest.mark.parametrize("workers", [2, 4, 10])
def test_workers_that_share_a_seed_are_refused(workers):
    rng = np.random.default_rng(5)
    one = poisson(rng, 400 // workers, RATE / workers)
    jitter = rng.integers(0, 200_000, (workers, len(one)))

    found = audit(np.sort((one + jitter).ravel()), "poisson", rate_per_s=RATE)

    assert "cv" in statistics(found)


def test_workers_that_share_a_seed_show_the_fano_factor_of_their_number():
    rng = np.random.default_rng(6)
    one = poisson(rng, 400, RATE / 9)

    assert arrivals(np.sort(np.tile(one, 9))).fano == pytest.approx(9, rel=0.2)


def test_independent_workers_superpose_to_an_honest_process():
    rng = np.random.default_rng(7)
    streams = [poisson(rng, 400, RATE / 4) for _ in range(4)]
    until = min(stream[-1] for stream in streams)
    together = np.sort(np.concatenate(streams))

    assert audit(together[together <= until], "poisson", rate_per_s=RATE) == []


def test_a_rate_that_falls_behind_is_refused():
    rng = np.random.default_rng(8)
    found = audit(poisson(rng, 4000, 183), "poisson", rate_per_s=200)

    assert "rate" in statistics(found)


def test_gaps_that_answer_each_other_are_refused():
    rng = np.random.default_rng(9)
    gaps = np.repeat(rng.exponential(1 / RATE, 300), 2)

    assert "lag1" in statistics(audit(times(gaps), "poisson", rate_per_s=RATE))


def test_a_load_that_swells_and_ebbs_is_refused_by_its_counts():
    rng = np.random.default_rng(10)
    swell = 1 + 0.9 * np.sin(np.arange(2000) / 50)
    gaps = rng.exponential(1 / RATE, 2000) / swell

    assert statistics(audit(times(gaps), "poisson", rate_per_s=None)) & {"fano", "cv"}


@pytest.mark.parametrize("rate", [2.0, 20.0])
def test_constant_arrivals_up_to_20_per_second_may_vary_by_less_than_a_hundredth(rate):
    rng = np.random.default_rng(11)
    exact = np.full(200, 1 / rate)

    good = times(exact * (1 + 0.006 * rng.standard_normal(200)))
    bad = times(exact * (1 + 0.03 * rng.standard_normal(200)))
    assert audit(good, "constant", rate_per_s=rate) == []
    assert "cv" in statistics(audit(bad, "constant", rate_per_s=rate))


def test_faster_constant_arrivals_may_deviate_by_less_than_a_fifth_of_a_millisecond():
    rng = np.random.default_rng(12)
    exact = np.full(1000, 1 / 500)

    good = times(exact + 0.12e-3 * rng.standard_normal(1000))
    bad = times(exact + 0.4e-3 * rng.standard_normal(1000))
    assert audit(good, "constant", rate_per_s=500) == []
    assert statistics(audit(bad, "constant", rate_per_s=500)) == {"gap deviation"}


def test_two_late_sends_among_two_hundred_do_not_void_a_constant_load():
    at = times(np.full(200, 1 / 20))
    at[[50, 120]] += 8_000_000

    assert audit(at, "constant", rate_per_s=20) == []


@pytest.mark.parametrize("process", ["closed", "trace"])
def test_closed_loops_and_traces_are_held_against_no_process(process):
    rng = np.random.default_rng(13)

    assert audit(poisson(rng, 200, 1.0), process, rate_per_s=99.0) == []


def test_fewer_than_twenty_gaps_are_not_judged():
    assert audit(times(np.ones(MIN_GAPS)), "poisson", rate_per_s=99.0) == []
