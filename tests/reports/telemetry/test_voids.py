from __future__ import annotations

import pytest

from reports.telemetry.summary import summarise_telemetry
from reports.telemetry.voids import Judgement, is_measured_again, judged
from tests.reports.telemetry.samples import host, steady, telemetry

QUIET = {
    "seconds": 600.0,
    "cpus": 8,
    "foreign_share": 0.001,
    "steal_share": 0.0,
    "major_faults": 3,
    "swapped_in_bytes": 0,
}


def told(**changes):
    rows = [*steady(**changes), *(host(second) for second in range(31))]
    return summarise_telemetry(telemetry(sorted(rows, key=lambda row: row["at_ns"])))


def test_a_quiet_machine_voids_and_flags_nothing():
    assert judged(told(), QUIET) == Judgement()
    assert judged(None, None) == Judgement()


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (0x8, "hardware slowdown"),
        (0x40, "hardware thermal slowdown"),
        (0x80, "hardware power brake"),
    ],
)
def test_hardware_that_protects_itself_voids(mask, words):
    assert judged(told(reasons=mask), QUIET).voids == (f"GPU 0: {words}",)


@pytest.mark.parametrize(
    ("mask", "words"), [(0x4, "software power cap"), (0x20, "software thermal slowdown")]
)
def test_what_software_caps_is_flagged_and_voids_nothing(mask, words):
    found = judged(told(reasons=mask), QUIET)

    assert found == Judgement(flags=(f"GPU 0: {words} in 100% of samples",))


@pytest.mark.parametrize("mask", [0x1, 0x2, 0x10, 0x100])
def test_idle_and_settings_of_others_are_no_reason(mask):
    assert judged(told(reasons=mask), QUIET) == Judgement()


def test_uncorrected_memory_errors_void():
    rows = steady()
    for row in rows[15:]:
        row["ecc_uncorrected"] = 2
    found = judged(summarise_telemetry(telemetry(rows)), QUIET)

    assert found.voids == ("GPU 0: 2 uncorrected memory errors",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steal_share": 0.011}, "the hypervisor took 1.1% of the processors' time"),
        ({"swapped_in_bytes": 4096}, "the machine read pages back from swap"),
        ({"major_faults": 1200}, "its processes waited for the disk 2.0 times a second"),
        ({"foreign_share": 0.05}, "others used 5.0% of 8 CPUs"),
    ],
)
def test_a_machine_that_is_not_ours_alone_voids(change, words):
    assert judged(None, {**QUIET, **change}).voids == (words,)


def test_one_hundredth_of_steal_and_a_tenth_of_a_core_are_endured():
    assert judged(None, {**QUIET, "steal_share": 0.01}) == Judgement()
    assert judged(None, {**QUIET, "foreign_share": 0.04, "cpus": 2}) == Judgement()


def test_the_window_counts_where_it_was_sampled():
    """Steal before the measured window does not reach it."""
    assert judged(told(), {**QUIET, "steal_share": 0.2}) == Judgement()


def test_an_exploratory_run_tells_and_voids_nothing():
    found = judged(told(reasons=0x8), {**QUIET, "steal_share": 0.2}, exploratory=True)

    assert found.voids == ()
    assert "GPU 0: hardware slowdown" in found.flags


def test_void_cells_are_measured_again_twice_and_then_kept_as_they_are():
    assert [is_measured_again(before) for before in range(4)] == [True, True, False, False]
