"""The line through all-reduces: start-up and bandwidth, and how far the points lie from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.calibration.fit import fit_all_reduce

SIZES = tuple(1 << power for power in range(10, 29, 2))
alphas = st.floats(1e-7, 1e-2)
bandwidths = st.floats(1e8, 1e12)
degrees = st.sampled_from((2, 4, 8))


def line(alpha_s: float, bandwidth: float, devices: int) -> list[tuple[int, float]]:
    share = 2 * (devices - 1) / devices
    return [(size, alpha_s + share * size / bandwidth) for size in SIZES]


@given(alpha=alphas, bandwidth=bandwidths, devices=degrees)
def test_points_on_a_line_give_back_its_start_up_and_bandwidth(alpha, bandwidth, devices):
    found = fit_all_reduce(line(alpha, bandwidth, devices), devices)

    assert found is not None
    longest = alpha + 2 * SIZES[-1] / bandwidth
    if alpha > 1e-4 * longest and alpha < 1e4 * 2 * SIZES[-1] / bandwidth:
        assert found.alpha_s == pytest.approx(alpha, rel=1e-3)
        assert found.bandwidth == pytest.approx(bandwidth, rel=1e-3)
    assert found.residual < 1e-3


@given(
    points=st.lists(
        st.tuples(st.sampled_from(SIZES), st.floats(1e-7, 10.0)), min_size=2, max_size=30
    ),
    devices=degrees,
)
def test_a_start_up_is_never_negative_and_a_bandwidth_always_positive(points, devices):
    found = fit_all_reduce(points, devices)

    if found is not None:
        assert found.alpha_s >= 0
        assert found.bandwidth > 0
        assert 0 <= found.residual <= found.worst_residual * (1 + 1e-9)


@given(alpha=alphas, bandwidth=bandwidths, devices=degrees, slower=st.floats(1.1, 10.0))
def test_times_that_are_all_longer_by_a_factor_are_a_line_slower_by_it(
    alpha, bandwidth, devices, slower
):
    points = line(alpha, bandwidth, devices)
    fit, other = (
        fit_all_reduce([(size, time * by) for size, time in points], devices)
        for by in (1.0, slower)
    )

    assert other.bandwidth == pytest.approx(fit.bandwidth / slower, rel=1e-6)
    assert other.alpha_s == pytest.approx(fit.alpha_s * slower, rel=1e-6, abs=1e-12)


def test_short_messages_tell_the_start_up_beside_ones_of_a_hundred_thousand_times_their_size():
    points = line(15e-6, 19.2e9, 2)
    points[-1] = (points[-1][0], points[-1][1] * 1.1)  # the longest took a tenth longer

    found = fit_all_reduce(points, 2)

    assert found.alpha_s == pytest.approx(15e-6, rel=0.02)
    assert found.bandwidth == pytest.approx(19.2e9, rel=0.06)
    assert found.worst_residual == pytest.approx(0.068, abs=0.01)


@pytest.mark.parametrize(
    "points",
    [[], [(1024, 1e-5)], [(1024, 1e-5), (1024, 2e-5)]],
    ids=["none", "one", "one size"],
)
def test_fewer_than_two_message_sizes_tell_no_line(points):
    assert fit_all_reduce(points, 2) is None


def test_a_time_that_shrinks_with_the_message_is_answered_by_bandwidth_alone_or_not_at_all():
    found = fit_all_reduce([(1024, 1e-3), (1 << 20, 1e-5)], 2)

    assert found is None
