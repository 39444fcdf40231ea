"""The contract of a plan is that of its campaign file, in whichever words that states it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from catalog.load import load_campaign, load_catalog, shipped_catalog
from flows.run_plan import make_run_plan
from flows.run_plan.kept import altered_clauses
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.plan_file import RunPlan
from reports.run.read import file_text, read_file

NOW = dt.datetime(2026, 8, 22, 12, 0, tzinfo=dt.UTC)
CAMPAIGNS = sorted((shipped_catalog() / "campaigns").glob("*.yaml"))


def planned(folder: RunFolder, campaign: Path, **options: Any) -> RunPlan:
    """The plan of a campaign as it is read from a run's folder."""
    text = campaign.read_bytes()
    plan = make_run_plan(
        load_campaign(campaign), text, load_catalog(), now=NOW, run="r", **options
    )
    folder.file(layout.CAMPAIGN).write_bytes(text)
    folder.file(layout.PLAN).write_text(file_text(plan))
    return read_file(folder.file(layout.PLAN), RunPlan)


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda path: path.stem)
def test_every_shipped_campaign_s_plan_holds_its_contract(
    tmp_path: Path, campaign: Path
) -> None:
    folder = RunFolder(tmp_path)

    assert altered_clauses(folder, planned(folder, campaign, include_unlikely=True)) == ()


@pytest.mark.parametrize(
    ("clause", "value"),
    [
        ("quality", None),
        ("concurrency", 8),
        ("prompt_tokens", "512"),
        ("mean_output_tokens", 64.0),
        ("longest_output_tokens", None),
        ("weights", "fp8"),
        ("cost_ceiling_usd_per_1m", 9.0),
    ],
)
def test_a_clause_that_is_another_in_the_plan_is_named(
    tmp_path: Path, clause: str, value: object
) -> None:
    folder = RunFolder(tmp_path)
    plan = planned(folder, shipped_catalog() / "campaigns" / "canonical.yaml")
    contract = plan.contract.model_copy(update={clause: value})

    (seen,) = altered_clauses(folder, plan.model_copy(update={"contract": contract}))

    assert seen.startswith(f"the contract's {clause} is ")


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("exploratory", True),
        ("incumbent", "B"),
        ("switch_if_saves", 0.5),
        ("commitments", ("on-demand", "spot")),
    ],
)
def test_another_rule_of_how_to_decide_is_named(
    tmp_path: Path, rule: str, value: object
) -> None:
    folder = RunFolder(tmp_path)
    plan = planned(folder, shipped_catalog() / "campaigns" / "canonical.yaml")

    (seen,) = altered_clauses(folder, plan.model_copy(update={rule: value}))

    assert seen.startswith(f"the plan's {rule} is ")


def test_an_easier_limit_in_the_plan_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    plan = planned(folder, shipped_catalog() / "campaigns" / "canonical.yaml")
    slo = plan.contract.slo.model_copy(update={"itl_ms": 25.000001})
    contract = plan.contract.model_copy(update={"slo": slo})

    (seen,) = altered_clauses(folder, plan.model_copy(update={"contract": contract}))

    assert "the contract's slo is" in seen
    assert "25.000001" in seen
