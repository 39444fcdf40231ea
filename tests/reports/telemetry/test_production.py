from __future__ import annotations

import pytest

from reports.run.cell_file import AskedCell, AskedSlo, CellFile
from reports.run.plan_file import LoadPoint
from reports.run.read import read_run
from reports.telemetry.production import cost_point, production_point, to_repeat
from tests.reports.run.builder import QUICK, B, build_run

DECISION = LoadPoint(name="closed-16", process="closed", concurrency=16)


def cell(replication, *, clocks="locked", point="closed-16", candidate="B"):
    return CellFile(
        run="r",
        candidate=candidate,
        load_point=point,
        key="0" * 8,
        replication=replication,
        launch=f"{candidate}-{replication}",
        host="h",
        load_host="h",
        position=0,
        seed=1,
        basis="measurement",
        started_at="",
        ended_at="",
        asked=AskedCell(slo=AskedSlo(), arrival="closed"),
        clocks=clocks,
        files={},
    )


LOCKED = [cell(0), cell(1), cell(2), cell(0, candidate="C")]


def test_the_winners_decision_cell_is_repeated_with_as_many_launches():
    found = to_repeat("B", DECISION, LOCKED)

    assert found.replications == (0, 1, 2)
    assert found.point.name == "closed-16-production"
    assert found.point.concurrency == 16


def test_what_is_there_is_not_repeated():
    name = production_point(DECISION).name
    cells = [*LOCKED, cell(1, clocks="production", point=name)]

    assert to_repeat("B", DECISION, cells).replications == (0, 2)


@pytest.mark.parametrize("clocks", ["production", None])
def test_cells_whose_clocks_were_free_already_need_no_repetition(clocks):
    cells = [cell(0, clocks=clocks)]

    assert to_repeat("B", DECISION, cells) is None
    assert cost_point("B", DECISION, cells) == ("closed-16", "clocks were not locked")


def test_the_cost_is_that_of_production_clocks_once_all_of_it_is_there():
    name = production_point(DECISION).name
    part = [*LOCKED, cell(0, clocks="production", point=name)]
    whole = [*part, *(cell(n, clocks="production", point=name) for n in (1, 2))]

    assert cost_point("B", DECISION, part)[0] == "closed-16"
    assert cost_point("B", DECISION, whole) == (name, "repeated at production clocks")
    assert to_repeat("B", DECISION, whole) is None


def test_a_plan_knows_the_repetition_of_its_load_points(tmp_path):
    plan = read_run(build_run(tmp_path, [B], **QUICK).path).plan
    point = plan.load_point("closed-4")

    assert plan.load_point("closed-4-production") == production_point(point)
    with pytest.raises(KeyError):
        plan.load_point("closed-5-production")
