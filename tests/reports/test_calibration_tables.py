"""Assumption and measurement side by side, on the paper's page and in tables."""

from __future__ import annotations

import datetime as dt

import pytest

from catalog.calibration.file import AllReducePoint
from catalog.calibration.rates import rates_of
from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.screen import screen
from deploy_templates.registry import load_runtimes
from flows.paper import compose
from reports.calibration_tables import (
    all_reduce_table,
    figures_table,
    plain_time,
    side_by_side,
    still_open,
)
from reports.paper import paper_html, paper_markdown
from reports.table_one import table_one
from tests.catalog.calibration_files import accelerator, all_reduce, calibration, figure

TODAY = dt.date(2026, 9, 1)
L4 = accelerator(255e9, {"bf16": 80e12})


@pytest.fixture(scope="module")
def shown():
    """The canonical campaign whose L4 was measured, and the same without."""
    stated = load_campaign(shipped_catalog() / "campaigns" / "canonical.yaml")
    catalog, runtimes = load_catalog(), load_runtimes()
    measured = catalog.with_measured({"D": rates_of(calibration(L4, host="ssh:box"), L4)})
    return (
        screen(stated, measured, runtimes, TODAY),
        screen(stated, catalog, runtimes, TODAY),
        measured,
    )


def test_both_figures_stand_in_a_row_with_their_ratio_and_their_source(shown):
    measured, plain, _ = shown

    rows = [[cell.text for cell in row] for row in side_by_side(measured).rows]

    assert rows == [
        [
            "D",
            "achieved bandwidth",
            "240 GB/s a",
            "255 GB/s m",
            "+6.2%",
            "calibration of ssh:box (ffffffff), a test",
        ],
        [
            "D",
            "achieved compute",
            "75 TFLOP/s a",
            "80 TFLOP/s m",
            "+6.7%",
            "calibration of ssh:box (ffffffff), a test",
        ],
    ]
    assert side_by_side(plain) is None


def test_what_is_still_assumed_is_said(shown):
    measured, _, _ = shown

    said = still_open(measured)

    assert "B: achieved bandwidth and compute still assumed (OPEN)." in said
    assert not [line for line in said if line.startswith("D:")]


def test_table_one_tags_a_measured_rate_as_one(shown):
    measured, plain, _ = shown
    (row,) = (
        r for r in table_one(measured, {}) if r.dimension.startswith("Achieved bandwidth")
    )

    assert row.dimension == "Achieved bandwidth, assumed or measured"
    assert row.pairs[-1].ours == "255 GB/s, 85% of peak m"
    assert row.pairs[0].ours.endswith(" a")
    assert any(r.dimension == "Assumed achieved bandwidth" for r in table_one(plain, {}))


def test_the_pages_of_the_paper_vote_have_both_figures(shown):
    measured, plain, catalog = shown

    def page(result, write):
        return write(compose(None, result, catalog, 30, overlays=(), today=TODAY))

    for write in (paper_html, paper_markdown):
        assert "Assumptions that were measured" in page(measured, write)
        assert "255 GB/s m" in page(measured, write)
        assert "at a measured rate is still marked a" in page(measured, write)
        assert "still marked a" not in page(plain, write)
        assert "Assumptions that were measured" not in page(plain, write)


def test_every_figure_has_its_interval_its_spread_and_its_tool():
    low = figure("memory_triad", 20e9, low=19e9, high=21e9, is_beyond_cache=False)
    device = L4.model_copy(update={"figures": (*L4.figures, low)})

    table = figures_table(calibration(device))

    lines = [" | ".join(cell.line for cell in row) for row in table.rows]
    assert lines[0].startswith("NVIDIA L4 (0) | memory, read | the device | 255 GB/s m | – |")
    assert "matrix product, bf16" in lines[1]
    assert "19.0 GB/s to 21.0 GB/s" in lines[2]
    assert "arrays partly within the caches" in lines[2]
    assert "a test; 2 blocks" in lines[2]


def test_a_fit_shows_its_residual_and_every_message():
    points = tuple(
        AllReducePoint(message_bytes=size, seconds=time, minimum=time, maximum=time)
        for size, time in ((1024, 5e-6), (1 << 20, 1.2e-3))
    )
    line = all_reduce(2, 5e-6, 207e9, points=points).model_copy(update={"residual": 0.051})

    (row,) = all_reduce_table((line,)).rows

    assert [cell.text for cell in row] == [
        "2 × cuda",
        "5 µs m",
        "207 GB/s m",
        "5.1%",
        "1 KiB 5 µs, 1,024 KiB 1.2 ms",
        "a test",
    ]
    assert all_reduce_table(()) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5e-6, "5 µs"), (1e-3, "1 ms"), (0.28e-3, "280 µs"), (2.5, "2,500 ms")],
)
def test_times_are_in_microseconds_below_a_millisecond(seconds, text):
    assert plain_time(seconds) == text
