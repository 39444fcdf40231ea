from __future__ import annotations

import pytest

from reports.run.cell_file import AskedCell, AskedSlo, CellFile
from reports.run.plan_file import LoadPoint
from reports.run.read import read_run
from reports.telemetry.production import is_repetition, production_point, to_repeat
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


def test_a_repetition_is_told_by_its_name_and_complete_with_its_last_launch():
    name = production_point(DECISION).name
    whole = [*LOCKED, *(cell(n, clocks="production", point=name) for n in range(3))]

    assert is_repetition(name)
    assert not is_repetition(DECISION.name)
    assert to_repeat("B", DECISION, whole) is None


def test_a_plan_knows_the_repetition_of_its_load_points(tmp_path):
    plan = read_run(build_run(tmp_path, [B], **QUICK).path).plan
    point = plan.load_point("closed-4")

    assert plan.load_point("closed-4-production") == production_point(point)
    with pytest.raises(KeyError):
        plan.load_point("closed-5-production")
