"""What gates take of a calibration: whole hosts, cores of them, devices of a product."""

from __future__ import annotations

import pytest

from catalog.architecture import precision
from catalog.calibration.file import CalibrationFile
from catalog.calibration.rates import device_for, rates_of
from catalog.errors import CatalogError
from catalog.quantity import Basis
from tests.catalog.calibration_files import (
    accelerator,
    all_reduce,
    calibration,
    cpu_device,
    figure,
)

HOST = calibration(
    cpu_device(
        80e9,
        {"fp32": 400e9, "int8": 900e9},
        core_bandwidth=20e9,
        core_compute={"fp32": 60e9, "int8": 150e9},
    )
)
RATES = rates_of(HOST, HOST.devices[0])


def test_a_rate_is_a_measurement_with_its_source_and_day():
    assert RATES.bandwidth.value == 80e9
    assert RATES.bandwidth.basis is Basis.MEASUREMENT
    assert RATES.bandwidth.source == "calibration of local (ffffffff), a test"
    assert RATES.bandwidth.date.isoformat() == "2026-11-30"


@pytest.mark.parametrize(
    ("threads", "bandwidth", "compute"),
    [
        (None, 80e9, 400e9),
        (1, 20e9, 60e9),
        (2, 40e9, 120e9),
        (5, 80e9, 300e9),
        (64, 80e9, 400e9),
    ],
)
def test_so_many_threads_reach_so_many_times_one_core_and_at_most_the_host(
    threads, bandwidth, compute
):
    own = RATES.on_threads(threads)

    assert own.bandwidth.value == bandwidth
    assert own.compute["fp32"].value == compute


def test_without_a_cores_own_figure_threads_have_no_measured_rate():
    file = calibration(cpu_device(80e9, {"fp32": 400e9}))
    own = rates_of(file, file.devices[0]).on_threads(2)

    assert own.bandwidth is None
    assert own.compute == {}


@pytest.mark.parametrize(
    ("weights", "rate"),
    [("bfloat16", 400e9), ("gguf_f16", 400e9), ("gguf_q8_0", 900e9), ("int8", 900e9)],
)
def test_weights_are_computed_in_their_own_format_where_it_was_measured_else_in_32_bits(
    weights, rate
):
    assert RATES.compute_for(precision(weights)).value == rate


def test_the_hosts_own_entry_has_sizes_and_rates_and_no_peaks():
    device = RATES.device

    assert device.name == "local-cpu"
    assert device.memory.value == 64 * 2**30
    assert device.on_chip_cache.value == 32 * 2**20
    assert device.memory_bandwidth is None
    assert device.compute == {}
    assert device.achieved.bandwidth.value == 80e9


def test_a_copy_stands_in_where_reading_was_not_measured():
    file = calibration(
        accelerator(None).model_copy(update={"figures": (figure("memory_copy", 250e9),)})
    )

    assert rates_of(file, file.devices[0]).bandwidth.value == 250e9


def test_arrays_that_a_cache_may_hold_tell_no_bandwidth_of_the_memory():
    held = figure("memory_read", 900e9, is_beyond_cache=False)
    beyond = figure("memory_triad", 80e9, is_beyond_cache=True)

    def bandwidth(*figures):
        file = calibration(cpu_device().model_copy(update={"figures": figures}))
        return rates_of(file, file.devices[0]).bandwidth

    assert bandwidth(held) is None
    assert bandwidth(held, beyond).value == 80e9


def test_a_candidate_without_a_device_has_the_hosts_accelerator_else_its_processors():
    alone, both = calibration(cpu_device(1e9)), calibration(cpu_device(1e9), accelerator(2e9))

    assert device_for(alone, None).kind == "cpu"
    assert device_for(both, None).kind == "accelerator"


def test_of_several_devices_of_a_product_the_slowest_counts(shipped):
    file = calibration(accelerator(250e9), accelerator(240e9, index=1))

    assert device_for(file, shipped.device("nvidia-l4")).index == 1


def test_a_device_that_was_not_calibrated_is_named_with_what_was(shipped):
    said = device_for(calibration(accelerator(250e9)), shipped.device("nvidia-l40s"))

    assert said == "calibration of local (ffffffff) has NVIDIA L4, and no NVIDIA L40S 48GB"


def test_measured_all_reduces_are_of_devices_of_their_own_class():
    file = calibration(
        cpu_device(1e9), accelerator(2e9), all_reduces=(all_reduce(2, 5e-6, 207e9),)
    )

    assert rates_of(file, file.devices[0]).effective == ()
    (row,) = rates_of(file, file.devices[1]).effective
    assert (row.devices, row.alpha.value, row.bandwidth.value) == (2, 5e-6, 207e9)


def test_a_disturbed_calibration_that_is_not_exploratory_is_refused():
    with pytest.raises(ValueError, match="void"):
        calibration(cpu_device(1e9), disturbances=("others use it",))
    with pytest.raises(ValueError, match="greater than 0"):
        figure("memory_read", 0.0)


def test_a_file_that_is_none_is_refused_with_its_place(tmp_path):
    from catalog.calibration.file import calibration_text, read_calibration

    path = tmp_path / "calibration.json"
    path.write_text(calibration_text(HOST).replace('"B/s"', '"GB"', 1))
    with pytest.raises(CatalogError, match=r"calibration.json: devices.0.figures.0.unit"):
        read_calibration(path)
    path.write_text(calibration_text(HOST).replace("12:00:00Z", "12:00:00"))
    with pytest.raises(CatalogError, match=r"measured_at: .* timezone"):
        read_calibration(path)
    path.write_text(calibration_text(HOST))
    assert read_calibration(path) == HOST
    assert CalibrationFile.model_validate_json(calibration_text(HOST)) == HOST
