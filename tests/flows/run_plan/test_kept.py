"""The contract of a plan is that of its campaign file, in whichever words that states it."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from catalog.load import load_campaign, load_catalog, shipped_catalog
from flows.rehearsing import shortened
from flows.run_plan import gates_json, make_run_plan
from flows.run_plan.kept import altered_clauses
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.plan_file import RunPlan
from reports.run.read import file_text, read_file

NOW = dt.datetime(2026, 8, 22, 12, 0, tzinfo=dt.UTC)
CANONICAL = shipped_catalog() / "campaigns" / "canonical.yaml"
OFFER = "offer: aws/p4de.24xlarge\n"
CAMPAIGNS = sorted((shipped_catalog() / "campaigns").glob("*.yaml"))


def planned(folder: RunFolder, campaign: Path, **options: Any) -> RunPlan:
    """The plan of a campaign as it is read from a run's folder."""
    text = campaign.read_bytes()
    plan = make_run_plan(
        load_campaign(campaign), text, load_catalog(), now=NOW, run="r", **options
    )
    folder.file(layout.CAMPAIGN).write_bytes(text)
    folder.file(layout.PLAN).write_text(file_text(plan))
    gates = gates_json(load_campaign(campaign), load_catalog(), (), NOW.date())
    folder.file(layout.GATES).write_text(json.dumps(gates))
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


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda path: path.stem)
def test_a_rehearsal_s_fewer_loads_are_those_of_its_rule(
    tmp_path: Path, campaign: Path
) -> None:
    folder = RunFolder(tmp_path)
    plan = shortened(planned(folder, campaign, include_unlikely=True, rehearsal=True))

    assert altered_clauses(folder, plan) == ()
    one_less = plan.matrix.model_copy(update={"load_points": plan.matrix.load_points[1:]})
    assert altered_clauses(folder, plan.model_copy(update={"matrix": one_less})) != ()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("requests", 20),
        ("replications", 1),
        ("seed", 7),
        ("warmup_requests", 0),
        ("load_points", ()),
        ("decision_point", "closed-1"),
        ("decision_duration_s", 10.0),
        ("search_rates", True),
    ],
)
def test_another_load_matrix_than_the_file_s_is_named(
    tmp_path: Path, part: str, value: object
) -> None:
    folder = RunFolder(tmp_path)
    plan = planned(folder, CANONICAL)
    matrix = plan.matrix.model_copy(update={part: value})

    (seen,) = altered_clauses(folder, plan.model_copy(update={"matrix": matrix}))

    assert seen.startswith(f"the matrix's {part} is ")


@pytest.mark.parametrize(
    "change", [{"value": 1.0}, {"unit": "EUR/h"}, {"stated": False}, None], ids=str
)
def test_another_price_than_the_file_s_is_named(tmp_path: Path, change: Any) -> None:
    folder = RunFolder(tmp_path)
    plan = planned(folder, CANONICAL)

    (seen,) = altered_clauses(folder, repriced(plan, "B", change))

    assert seen.startswith("the price of B is ")
    assert seen.endswith("campaign.yaml states 3.67 USD/h")


def test_a_price_that_is_the_catalog_s_is_held_against_the_paper_vote(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    text = CANONICAL.read_text().replace(", price: $3.67/h", "")
    text = text.replace("device: nvidia-a100-80gb-sxm4\n    runtime", f"{OFFER}    runtime", 1)
    (tmp_path / "mine.yaml").write_text(text)
    plan = planned(folder, tmp_path / "mine.yaml")
    price = plan.candidate("B").price

    assert price is not None
    assert not price.stated
    assert altered_clauses(folder, plan) == ()
    (seen,) = altered_clauses(folder, repriced(plan, "B", {"value": price.value / 2}))
    assert "gates.json states" in seen


def test_a_candidate_that_the_file_does_not_know_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    plan = planned(folder, CANONICAL)

    (seen,) = altered_clauses(
        folder, plan.model_copy(update={"candidates": plan.candidates[1:]})
    )

    assert seen == "the plan's candidates are B, C, D; campaign.yaml states A, B, C, D"


def repriced(plan: RunPlan, name: str, change: Any) -> RunPlan:
    """The plan with another price of one candidate; None: with none."""
    facts = plan.candidate(name)
    assert facts.price is not None
    price = None if change is None else facts.price.model_copy(update=change)
    return plan.model_copy(
        update={
            "candidates": tuple(
                each.model_copy(update={"price": price}) if each.name == name else each
                for each in plan.candidates
            )
        }
    )
