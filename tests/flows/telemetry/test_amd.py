from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.telemetry.amd import Documents, samples_of

SCENES = Path(__file__).parents[1] / "fake_smi" / "scenes"


def metric(scene: str) -> object:
    return json.loads((SCENES / scene / "metric.json").read_text())


@pytest.mark.parametrize(
    ("scene", "reasons"), [("mi300x-rocm62", None), ("mi300x-rocm70", 0x4)]
)
def test_both_shapes_of_the_tools_answers_are_read(scene, reasons):
    (found,) = samples_of(metric(scene), 5)

    assert found["reasons"] == reasons
    assert {name: found[name] for name in ("at_ns", "device", "graphics_mhz", "power_w")} == {
        "at_ns": 5,
        "device": 0,
        "graphics_mhz": 2098.0,
        "power_w": 612.0,
    }
    assert found["energy_mj"] == 1_234_500
    assert found["memory_temperature_c"] == 52.0


def test_what_a_guest_is_not_told_is_null():
    (found,) = samples_of([{"gpu": 1, "power": "N/A", "clock": {"gfx_0": {"clk": "N/A"}}}], 0)

    assert found["power_w"] is None
    assert found["graphics_mhz"] is None
    assert found["energy_mj"] is None


@pytest.mark.parametrize("document", [None, "text", {}, [1], [{"gpu": "0"}]])
def test_a_foreign_document_has_no_samples(document):
    assert list(samples_of(document, 0)) == []


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40))
def test_documents_are_found_wherever_the_stream_is_cut(sizes):
    text = "".join(json.dumps([{"gpu": number}], indent=4) + "\n" for number in range(3))
    stream, found, at = Documents(), [], 0
    for size in [*sizes, len(text)]:
        found += stream.add(text[at : at + size])
        at += size

    assert found == [[{"gpu": number}] for number in range(3)]
