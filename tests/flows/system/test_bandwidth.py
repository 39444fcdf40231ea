from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.errors import InfrastructureError
from flows.system.bandwidth import MOST_BYTES, Sizing, measured_bandwidth, sizing

MIB = 2**20
SMALL = Sizing(array_bytes=4 * MIB, is_beyond_cache=False)


@pytest.fixture(params=["C", "NumPy"])
def compiler(request) -> str | None:
    if request.param == "NumPy":
        return None
    found = shutil.which("gcc")
    if found is None:
        refuse = pytest.fail if os.environ.get("RUNOFF_REQUIRE_ALL") else pytest.skip
        refuse("no gcc: install Debian's package of that name")
    return found


def test_arrays_are_four_times_the_last_level_caches():
    assert sizing(32 * MIB, None) == Sizing(array_bytes=128 * MIB, is_beyond_cache=True)


def test_arrays_that_memory_or_the_limit_keeps_small_are_said_to_be():
    assert not sizing(1024 * MIB, None).is_beyond_cache
    assert not sizing(32 * MIB, 100 * MIB).is_beyond_cache


@given(
    st.none() | st.integers(1, 10**10),
    st.none() | st.integers(10 * MIB, 10**13),
)
def test_three_arrays_never_take_more_than_the_limit_and_half_the_free_memory(cache, free):
    size = sizing(cache, free).array_bytes

    assert size > 0
    assert size % 8 == 0
    assert 3 * size <= min(MOST_BYTES, (free or MOST_BYTES * 2) / 2)


@pytest.mark.e2e
def test_a_real_triad_is_reported_by_its_median_with_its_spread(compiler):
    before = os.sched_getaffinity(0)
    cpus = sorted(before)

    found = measured_bandwidth(SMALL, cpus, compiler, repetitions=5)

    assert 0 < found.lowest <= found.median <= found.highest
    assert (found.repetitions, found.threads) == (5, len(cpus))
    assert (found.unit, found.basis) == ("B/s", "measurement")
    assert ("C triad" in found.method) == (compiler is not None)
    assert "too small to lie beyond the caches" in found.method
    assert os.sched_getaffinity(0) == before


def test_a_compiler_that_fails_says_so(tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho no such flag >&2\nexit 1\n")
    broken.chmod(0o755)

    with pytest.raises(InfrastructureError, match="ended with code 1: no such flag"):
        measured_bandwidth(SMALL, [0], str(broken))
