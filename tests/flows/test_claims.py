from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.claims import claims
from tests.flows.plans import campaign_of, plan_of


def _said(folder: Path, **changes: Any) -> list[str]:
    return list(claims(plan_of(campaign_of(folder, changes)[0])))


def test_too_few_requests_have_no_upper_limit_and_prove_no_goodput(tmp_path: Path) -> None:
    said = _said(tmp_path, exploratory=True, matrix={"requests": 50})

    assert said[0] == (
        "p95: an upper limit takes 59 requests of a launch, 50 are planned: "
        "there will be no upper limit"
    )
    assert said[2] == "goodput of 95.0%: 50 requests cannot prove it, whatever happens"


def test_two_hundred_requests_need_196_good_ones(tmp_path: Path) -> None:
    said = _said(tmp_path, exploratory=True, matrix={"requests": 200})

    assert any("of 200 independent requests 196 must comply" in each for each in said)


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
