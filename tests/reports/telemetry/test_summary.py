from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.telemetry.summary import observed_clocks, summarise_telemetry, sustained_clocks
from tests.reports.telemetry.samples import device, host, steady, telemetry


def of(rows, **more):
    return summarise_telemetry(telemetry(rows), **more)


def test_clocks_are_those_of_the_window_alone():
    rows = steady()
    rows[5]["graphics_mhz"], rows[25]["graphics_mhz"] = 210.0, 300.0
    rows[12]["graphics_mhz"] = 1290.0

    found = of(rows, targets_mhz={0: 1410})["devices"]["0"]

    assert found["graphics_mhz"] == {"low": 1290.0, "median": 1410.0, "high": 1410.0}
    assert found["share_at_target"] == pytest.approx(10 / 11)
    assert found["samples"] == 11


@pytest.mark.parametrize(("seen", "share"), [(1395.0, 1.0), (1425.0, 1.0), (1394.0, 0.0)])
def test_a_clock_is_on_target_within_15_mhz(seen, share):
    found = of(steady(graphics_mhz=seen), targets_mhz={0: 1410})

    assert found["devices"]["0"]["share_at_target"] == share


def test_energy_is_the_counters_difference_over_the_window():
    found = of(steady(), output_tokens=2000)

    assert found["energy_j"] == pytest.approx(4000)  # 400 W by the counter, 500 by the samples
    assert found["energy_from"] == "counter"
    assert found["energy_j_per_output_token"] == pytest.approx(2.0)


def test_energy_is_read_between_samples_where_the_window_begins_and_ends():
    rows = telemetry(steady(), (10.25, 19.5))

    assert summarise_telemetry(rows)["energy_j"] == pytest.approx(400 * 9.25)


def test_without_a_counter_energy_is_the_integral_of_power():
    found = of(steady(energy_mj=None))

    assert found["energy_j"] == pytest.approx(5000)
    assert found["energy_from"] == "power samples"


@given(st.lists(st.floats(0, 1000), min_size=31, max_size=31))
def test_the_integral_lies_between_the_lowest_and_the_highest_power(watts):
    rows = [device(at, energy_mj=None, power_w=power) for at, power in enumerate(watts)]
    found = of(rows)["energy_j"]

    assert 10 * min(watts[10:21]) - 1e-6 <= found <= 10 * max(watts[10:21]) + 1e-6


def test_energy_that_was_not_read_past_the_end_is_unknown():
    found = of(steady(20))

    assert found["energy_j"] is None
    assert found["energy_j_per_output_token"] is None


def test_a_counter_that_was_set_back_counts_nothing():
    rows = steady(power_w=None)
    for row in rows[15:]:
        row["energy_mj"] -= 5_000_000

    assert of(rows)["energy_j"] is None


def test_energy_of_all_devices_of_the_server_and_of_no_other():
    rows = [*steady(number=0), *steady(number=1), *steady(number=2)]
    rows.sort(key=lambda row: row["at_ns"])

    assert of(rows, devices=(0, 1))["energy_j"] == pytest.approx(8000)
    assert of(rows, devices=(0, 5))["missing_devices"] == [5]


def test_every_reason_that_showed_once_is_kept_with_its_share():
    rows = steady()
    rows[12]["reasons"], rows[13]["reasons"], rows[14]["reasons"] = 0x4, 0x4 | 0x40, 0x20
    rows[25]["reasons"] = 0x80

    found = of(rows)["devices"]["0"]

    assert found["reasons"] == 0x64
    assert found["reasons_share"] == {
        "0x4": pytest.approx(2 / 11),
        "0x20": pytest.approx(1 / 11),
        "0x40": pytest.approx(1 / 11),
    }


def test_reasons_that_the_driver_does_not_tell_are_null_not_none_seen():
    found = of(steady(reasons=None))["devices"]["0"]

    assert found["reasons"] is None
    assert found["reasons_share"] == {}


def test_a_hole_in_the_record_is_seen():
    rows = [row for row in steady() if not 13 <= row["at_ns"] / 1e9 <= 16]

    assert of(steady())["devices"]["0"]["is_whole"]
    assert not of(rows)["devices"]["0"]["is_whole"]


def test_host_counters_are_differences_over_the_window():
    rows = [host(second) for second in range(31)]
    for second in range(15, 31):
        rows[second]["steal_ticks"] = 80
        rows[second]["major_faults"] = 10
    found = of(rows)["host"]

    assert found["steal_share"] == pytest.approx(80 / 4000)
    assert found["used_share"] == pytest.approx(0.25)
    assert found["major_faults"] == 3
    assert found["swapped_in_pages"] == 0


def test_a_machine_without_devices_has_none_and_no_energy():
    found = of([host(second) for second in range(31)])

    assert found["devices"] == {}
    assert found["energy_j"] is None


def test_clocks_of_all_cells_of_a_host_are_named_as_its_settings_are():
    found = observed_clocks([of(steady()), of(steady(graphics_mhz=1350.0))])

    seen = found["graphics_clock_mhz", "GPU 0"]
    assert (seen.low, seen.median, seen.high) == (1350.0, 1380.0, 1410.0)
    assert ("memory_clock_mhz", "GPU 0") in found


def test_a_clock_to_lock_is_the_lowest_that_was_held_under_load():
    rows = [*steady(number=0), *steady(number=1)]
    rows[12]["graphics_mhz"] = 1307.0
    rows[3]["graphics_mhz"] = 210.0  # before the window

    assert sustained_clocks(of(rows)) == {0: 1305, 1: 1410}


def test_a_hole_in_the_samples_proposes_no_clock():
    assert sustained_clocks(of(steady()[:14])) == {}
