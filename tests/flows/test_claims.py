from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.claims import claims, operating
from tests.flows.plans import campaign_of, plan_of


def _said(folder: Path, **changes: Any) -> list[str]:
    return list(claims(plan_of(campaign_of(folder, changes)[0])))


def test_too_few_requests_over_all_launches_have_no_upper_limit(tmp_path: Path) -> None:
    matrix = {"requests": 19, "replications": 3}
    said = _said(tmp_path, exploratory=True, matrix=matrix)

    assert said[0] == (
        "p95: an upper limit takes 59 requests over all launches, 57 are planned: "
        "there will be no upper limit"
    )
    assert said[1] == "goodput of 95.0%: 57 requests cannot prove it at all"


def test_requests_of_all_launches_count(tmp_path: Path) -> None:
    matrix = {"requests": 50, "replications": 4}
    said = _said(tmp_path, exploratory=True, matrix=matrix)

    assert said[0].endswith("200 are planned")
    assert "of 200 independent requests over all launches 196 must comply" in said[1]


def test_one_launch_proves_no_clause(tmp_path: Path) -> None:
    said = _said(tmp_path, exploratory=True, matrix={"replications": 1})

    assert "no clause can be proven" in said[0]


def test_the_operating_characteristic_of_the_plans_own_size_is_told(tmp_path: Path) -> None:
    matrix = {"requests": 200, "replications": 3}
    known = operating(
        plan_of(campaign_of(tmp_path, {"exploratory": True, "matrix": matrix})[0])
    )

    assert known is not None
    title, (head, *rows) = known
    assert "holds / misses" in title
    assert "95.0%" in head
    assert {row[0] for row in rows} == {"3 × 200"}


def test_a_plan_smaller_than_any_simulated_one_has_no_operating_characteristic(
    tmp_path: Path,
) -> None:
    matrix = {"requests": 20, "replications": 2}
    plan = plan_of(campaign_of(tmp_path, {"exploratory": True, "matrix": matrix})[0])

    assert operating(plan) is None


def test_one_launch_shows_no_difference(tmp_path: Path) -> None:
    said = _said(tmp_path, exploratory=True, matrix={"replications": 1})

    assert said[-1] == "better or worse: one launch each can show no difference"


def test_the_contracts_own_percentile_is_spoken_of(tmp_path: Path) -> None:
    slo = {"ttft": "500 ms", "itl": "100 ms", "percentile": 90}
    said = _said(tmp_path, contract={"slo": slo})

    assert said[0].startswith("p90: an upper limit takes 29 requests")
    assert not any(each.startswith("goodput") for each in said)


def test_three_launches_show_nine_percent(tmp_path: Path) -> None:
    assert any("3 launches each can show 9.0% on one machine" in e for e in _said(tmp_path))
