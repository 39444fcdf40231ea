import struct

import pytest

from flows.load import clock
from flows.load.clock import ArrivalClock, wall_offset_ns


@pytest.fixture
def offset(monkeypatch):
    def at(ns):
        monkeypatch.setattr(clock, "wall_offset_ns", lambda: ns)

    return at


def test_a_kernel_stamp_becomes_monotonic_time(offset):
    offset(1_700_000_000_000_000_000)
    stamp = struct.pack("qq", 1_700_000_012, 345)

    assert ArrivalClock().arrival_ns([(1, 35, stamp)]) == 12_000_000_345


def test_a_read_without_a_stamp_is_stamped_now_and_counted(monkeypatch):
    of = ArrivalClock()
    monkeypatch.setattr(clock, "monotonic_ns", lambda: 77)

    assert of.arrival_ns([]) == 77
    assert of.without_stamp == 1


def test_a_stepped_wall_clock_is_followed_and_counted(offset):
    offset(1_000_000_000)
    of = ArrivalClock()

    offset(3_000_000_000)
    of.check()
    of.check()

    assert of.steps == 1
    assert of.arrival_ns([(1, 35, struct.pack("qq", 4, 0))]) == 1_000_000_000


def test_the_noise_of_reading_two_clocks_is_no_step(offset):
    offset(1_000_000_000)
    of = ArrivalClock()

    offset(1_000_005_000)
    of.check()

    assert (of.steps, of.offset_ns) == (0, 1_000_000_000)


def test_the_offset_leads_from_one_clock_to_the_other():
    import time

    before_ns = time.time_ns()
    now_ns = time.monotonic_ns() + wall_offset_ns()

    assert abs(now_ns - before_ns) < 1_000_000_000
