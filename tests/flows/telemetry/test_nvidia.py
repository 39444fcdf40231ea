from __future__ import annotations

import time

import pytest

from flows.telemetry.nvidia import FIELDS, known_fields, number, sample_of

LINE = {
    "told_at": "timestamp",
    "device": "index",
    "graphics_mhz": "clocks.gr",
    "power_w": "power.draw.instant",
    "power_average_w": "power.draw",
    "reasons": "clocks_event_reasons.active",
}


@pytest.mark.parametrize(
    ("scene", "reasons", "power", "pcie"),
    [
        (
            "a100-pcie-470",
            "clocks_throttle_reasons.active",
            "power.draw",
            "pcie.link.gen.current",
        ),
        (
            "h100-sxm-535",
            "clocks_event_reasons.active",
            "power.draw.instant",
            "pcie.link.gen.gpucurrent",
        ),
        (
            "h200-580",
            "clocks_event_reasons.active",
            "power.draw.instant",
            "pcie.link.gen.gpucurrent",
        ),
    ],
)
def test_each_driver_is_asked_by_its_own_names(smi, scene, reasons, power, pcie):
    smi.is_of(scene)
    found = known_fields()

    assert set(found) == set(FIELDS)
    assert (found["reasons"], found["power_w"], found["pcie_gen"]) == (reasons, power, pcie)


def test_a_field_that_no_name_reaches_is_left_out(smi):
    smi.put(
        "nvidia-smi",
        "for bad in clocks_event_reasons.active clocks_throttle_reasons.active; "
        'do case "$*" in *"$bad"*) echo "Field \\"$bad\\" is not a valid field to query."; '
        "exit 2;; esac; done",
    )

    assert set(known_fields()) == set(FIELDS) - {"reasons"}


def test_without_a_tool_or_its_driver_there_are_no_fields(smi, monkeypatch):
    smi.is_of("h100-sxm-535", "silent")
    assert known_fields() is None

    assert known_fields("no-such-program") is None


def test_a_line_is_stamped_by_the_tool_itself():
    at_s = time.mktime((2026, 8, 22, 12, 0, 0, 0, 0, -1))
    line = "2026/08/22 12:00:00.250, 3, 1410, 512.00, 498.10, 0x0000000000000004"

    assert sample_of(line, LINE, 10**9) == {
        "source": "device",
        "at_ns": round(at_s * 1e9) + 250_000_000 - 10**9,
        "device": 3.0,
        "graphics_mhz": 1410.0,
        "power_w": 512.0,
        "reasons": 4,
    }


def test_power_that_is_not_told_at_an_instant_is_the_average():
    line = "2026/08/22 12:00:00.250, 0, 1410, [N/A], 498.10, 0x0"

    assert sample_of(line, LINE, 0)["power_w"] == 498.1


@pytest.mark.parametrize(
    "line",
    [
        "",
        "2026/08/22 12:00:00.250, 0, 14",
        "2026/08/22 12:00:00.250, [N/A], 1410, 512, 498, 0x0",
        "No devices were found",
        "yesterday, 0, 1410, 512, 498, 0x0",
    ],
)
def test_a_torn_or_foreign_line_is_no_sample(line):
    assert sample_of(line, LINE, 0) is None


@pytest.mark.parametrize(
    "word",
    [
        *(
            "nan",
            "inf",
            "[N/A]",
            "N/A",
            "[Not Supported]",
            "[Unknown Error]",
            "[Insufficient Permissions]",
        ),
        *("[GPU requires reset]", "", "0xnone"),
    ],
)
def test_what_is_not_told_is_no_number(word):
    assert number(word) is None
