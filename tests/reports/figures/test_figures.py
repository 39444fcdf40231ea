"""What the figures take from a run, and the sentences that they put above it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from reports.figures import (
    attainment,
    cost,
    forest,
    frontier,
    load_curve,
    memory,
    tail,
    timeline,
)
from reports.figures.canvas import Drawing
from reports.figures.labels import Label, put_right
from reports.figures.marks import dodged
from reports.thin import Thin
from tests.reports.runs import KINDS

MEASURED = ("frontier", "cost", "attainment", "load_curve", "tail", "timeline", "forest")
NAMES = (*MEASURED, "memory")


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_or_says_why_not(report_of_kind, name, kind) -> None:
    module = importlib.import_module(f"reports.figures.{name}")

    found = module.figure(report_of_kind(kind))

    if isinstance(found, Drawing):
        assert found.finding.endswith(".")
        assert found.table.rows
    else:
        assert found == module.MISSING


@pytest.mark.parametrize("name", MEASURED)
def test_a_run_without_measurements_has_no_figure(report_of_kind, name) -> None:
    module = importlib.import_module(f"reports.figures.{name}")

    assert module.figure(report_of_kind("nothing measured")) == module.MISSING


def test_the_frontier_holds_what_no_other_point_beats_in_both(report_of_kind) -> None:
    data = frontier.frontier(report_of_kind("many"))
    points = [(p.x.value, p.y.value, p.is_marked) for line in data.lines for p in line.points]

    for x, y, is_frontier in points:
        beaten = any(a >= x and b >= y and (a, b) != (x, y) for a, b, _ in points)
        assert is_frontier is not beaten
    assert data.needed == 40.0
    assert frontier.finding(data).startswith(
        "Of the points with at least 40 tokens/s per user, "
    )


def test_cost_names_the_cheapest_point_that_keeps_every_clause(report_of_kind) -> None:
    data = cost.cost(report_of_kind("rehearsal"))
    good = [p.y.value for line in data.lines for p in line.points if p.is_marked]

    assert f"${min(good):.2f} per 1M output tokens" in cost.finding(data)
    assert "No point keeps every clause" in cost.finding(
        cost.cost(report_of_kind("none complies"))
    )


def test_attainment_says_up_to_where_the_share_is_proven(report_of_kind) -> None:
    data = attainment.attainment(report_of_kind("none complies"))

    assert attainment.finding(data).startswith("No candidate is proven to keep 95%")
    held = attainment.attainment(report_of_kind("rehearsal"))
    assert "B, C up to 4 streams" in attainment.finding(held)


def test_shares_that_are_all_low_are_shown_and_not_cut(report_of_kind) -> None:
    low = attainment.attainment(report_of_kind("none complies"))
    high = attainment.attainment(report_of_kind("rehearsal"))

    assert max(p.share.value for line in low.lines for p in line.points) < 0.8
    assert low.floor == 0.0
    assert high.floor == 0.8
    assert "bottom edge" not in attainment.draw(low).definition


def test_candidates_at_one_level_lie_side_by_side_and_never_reach_the_next_level() -> None:
    levels = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    for count in (2, 9):
        places = [dodged(x, i, count, levels) for x in levels for i in range(count)]

        assert len(set(places)) == len(places)
        assert places == sorted(places)
        middle = [dodged(4.0, i, count, levels) for i in range(count)]
        assert middle[0] * middle[-1] == pytest.approx(16)
    assert len({dodged(4.0, i, 3, [4.0]) for i in range(3)}) == 3


def test_labels_keep_their_distance_and_lead_to_their_line() -> None:
    ends = [Label(text=name, x=1.0, y=0.5, colour="#000000") for name in "ABC"]
    axes = Figure().subplots()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)

    put_right(axes, ends)

    heights = sorted(text.get_position()[1] for text in axes.texts)
    leads = [line.get_ydata() for line in axes.lines]
    assert min(b - a for a, b in pairwise(heights)) > 0.05
    assert sorted(lead[1] for lead in leads) == heights
    assert [lead[0] for lead in leads] == pytest.approx([0.5] * 3)


def test_a_single_load_is_told_with_its_fastest_and_its_slowest(report_of_kind) -> None:
    data = load_curve.load_curve(report_of_kind("rate"))

    assert data.is_open
    assert load_curve.finding(data).startswith(
        "One load was measured, 1 request/s: TTFT p95 of"
    )


def test_the_load_curve_names_the_steepest_rise(report_of_kind) -> None:
    data = load_curve.load_curve(report_of_kind("many"))

    assert load_curve.finding(data).startswith("TTFT p95 of candidate-")
    assert data.limits == (1000, 25, None)


def test_a_tail_ends_where_no_limit_can_be_told() -> None:
    assert tail.requests_for(95) == 59
    assert tail.requests_for(99) == 299
    assert tail.last_percent(59) == pytest.approx(95, abs=0.1)
    assert tail.last_percent(58) < 95 < tail.last_percent(59)


def test_a_first_token_that_was_there_when_the_client_looked_breaks_no_tail(
    report_of_kind,
) -> None:
    data = tail.tail(report_of_kind("failures"))
    line = replace(data.lines[0], service=(0.0, *data.lines[0].median[1:]))

    assert tail.draw(replace(data, lines=(line,))).svg


def test_failures_are_the_end_of_the_tail(report_of_kind) -> None:
    data = tail.tail(report_of_kind("failures"))
    failing = next(line for line in data.lines if line.name == "B")

    assert failing.shown[0] is not None  # the median is among the answers
    assert failing.shown[2] is None  # p95 is among the 20% that failed
    assert "among the failures" in [c.detail for row in tail.draw(data).table.rows for c in row]


def many_requests(count: int) -> Thin:
    """A long run of one request every 10 ms."""
    at_s = np.arange(count) / 100
    ttft_ms = 100 + 50 * np.sin(at_s)
    ttft_ms[count // 3] = 9000.0
    return Thin(
        scheduled_s=at_s,
        done_s=at_s + 1,
        ttft_ms=ttft_ms,
        service_ttft_ms=ttft_ms,
        lag_ms=np.zeros(count),
        tokens=np.full(count, 128.0),
        measured=np.ones(count, dtype=bool),
        ok=np.ones(count, dtype=bool),
        bands={"measured": (0.0, float(at_s[-1]))},
    )


def test_a_long_run_is_thinned_keeps_its_slowest_and_says_so(report_of_kind) -> None:
    report = report_of_kind("rehearsal")
    fields = {name: getattr(report, name) for name in report.__slots__}
    long = type(report)(
        **(fields | {"thin": {("B", r): many_requests(50_000) for r in range(3)}})
    )

    data = timeline.timeline(long)
    drawing = timeline.draw(data)

    assert sum(len(row.at_s) for row in data.rows) <= 2_000
    assert all(9000.0 in row.ttft_ms for row in data.rows)
    assert "every 84th request and the 20 slowest are drawn" in drawing.caption
    assert len(drawing.svg) < 100_000


def test_requests_in_flight_are_those_due_and_not_done() -> None:
    row = timeline._row(0, many_requests(1_000), 1)

    assert row.flight[120] == pytest.approx(100, abs=1)  # one a hundredth, a second each
    assert row.tokens_per_s[30] == pytest.approx(12_800, rel=0.05)


def test_the_forest_keeps_the_words_of_the_decision(report_of_kind) -> None:
    report = report_of_kind("many")
    rows = forest.forest(report)

    assert [row.word for row in rows] == [each.word for each in report.decision.comparisons]
    assert "more comparisons are in the table" in forest.draw(rows).caption
    assert len(forest.draw(rows).table.rows) == len(rows)


def test_memory_is_that_of_the_paper_and_names_the_tightest(report_of_kind) -> None:
    stacks = {stack.name: stack for stack in memory.memory(report_of_kind("nothing measured"))}

    assert stacks["D"].parts == pytest.approx((14.9575, 0.5625, 3.5), abs=1e-4)
    assert stacks["D"].memory == pytest.approx(22.494, abs=1e-3)
    assert memory.finding(tuple(stacks.values())) == (
        "A has least memory to spare: it needs 19.0 of 22.5 GiB per device."
    )
