"""A calibration as a catalog of one's own: it loads, is sound, and keeps specifications."""

from __future__ import annotations

import datetime as dt

import pytest

from catalog.calibration.overlay import entries_of
from catalog.load import load_catalog
from catalog.quantity import Basis
from catalog.sanity.devices import device_findings
from tests.catalog.calibration_files import accelerator, all_reduce, calibration, cpu_device

PCIE = "nvidia-a100-80gb-pcie"


@pytest.fixture
def laid(shipped, tmp_path):
    """The shipped catalog with the entries of a calibration laid over it."""

    def lay(file):
        for name, text in entries_of(file, shipped).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return load_catalog((tmp_path,))

    return lay


def test_a_known_product_keeps_its_specifications_and_gets_measured_rates(laid, shipped):
    file = calibration(accelerator(255e9, {"bf16": 80e12}), host="ssh:box")

    device, before = laid(file).device("nvidia-l4"), shipped.device("nvidia-l4")

    same = set(type(before).model_fields) - {"achieved", "sources", "notes"}
    assert {name: getattr(device, name) for name in same} == {
        name: getattr(before, name) for name in same
    }
    assert device.achieved.bandwidth.value == 255e9
    assert device.achieved.bandwidth.basis is Basis.MEASUREMENT
    assert device.achieved.bandwidth.source == "calibration of ssh:box (ffffffff), a test"
    assert device.achieved.bandwidth.date == dt.date(2026, 11, 30)
    assert device.achieved.compute["bf16"].value == 80e12
    assert device.achieved.workspace == before.achieved.workspace
    assert list(device_findings(device, device.links)) == list(
        device_findings(before, before.links)
    )


def test_its_links_get_the_measured_all_reduces_beside_the_others(laid, shipped):
    file = calibration(
        accelerator(1.6e12, catalog_device=PCIE),
        all_reduces=(all_reduce(2, 11e-6, 18e9), all_reduce(4, 30e-6, 9e9)),
    )

    link, before = (each.link(shipped.device(PCIE).links[0]) for each in (laid(file), shipped))

    rows = {row.devices: row for row in link.effective}
    old = {row.devices: row for row in before.effective}
    assert (rows[2].alpha.value, rows[2].bandwidth.value) == (11e-6, 18e9)
    assert rows[4].alpha.basis is Basis.MEASUREMENT
    assert rows[8] == old[8]
    assert link.per_direction == before.per_direction
    assert link.lesson == before.lesson


def test_a_host_without_an_entry_becomes_one_of_its_own_without_peaks(laid):
    device = laid(calibration(cpu_device(80e9, {"fp32": 4e11}))).device("local-cpu")

    assert device.title == "A processor"
    assert device.memory_bandwidth is None
    assert device.achieved.compute["fp32"].value == 4e11
    assert not [
        each for each in device_findings(device, device.links) if each.severity == "error"
    ]


def test_a_rate_above_the_peak_is_marked_and_only_warned_of(laid):
    device = laid(calibration(accelerator(310e9))).device("nvidia-l4")

    assert device.achieved.above_peak == ("bandwidth",)
    found = [
        each for each in device_findings(device, device.links) if "above the peak" in each.seen
    ]
    assert [each.severity for each in found] == ["warning"]


def test_what_was_not_measured_makes_no_entry(shipped):
    assert entries_of(calibration(cpu_device()), shipped) == {}
