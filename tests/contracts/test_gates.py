"""What every gate promises, checked over all that scanning finds."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType

import pytest

from catalog import gates
from catalog.case import Case, Unmodelled
from catalog.facts import Facts
from catalog.gates import Gate, all_gates, gates_in
from catalog.judging import Judge
from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.quantity import Basis, Quantity
from catalog.resolve import resolve
from catalog.sale import Sale
from catalog.verdict import Status
from deploy_templates.registry import load_runtimes

PLANTED = """
from catalog.verdict import GateResult, Status

ORDER = 2.5


def judge(case):
    return GateResult(gate="moonlight", status=Status.REJECT, clause="full moon")
"""


def shipped_cases() -> dict[str, Case]:
    """Every candidate of the campaigns that ship, resolved."""
    catalog, runtimes, day = load_catalog(), load_runtimes(), dt.date(2026, 9, 1)
    cases = {}
    for path in sorted((shipped_catalog() / "campaigns").glob("*.yaml")):
        campaign = load_campaign(path)
        facts = Facts.of(campaign, catalog, runtimes, day)
        for candidate in campaign.candidates:
            case = resolve(facts, candidate)
            if isinstance(case, Case):
                cases[f"{campaign.name} {case.name}"] = case
    return cases


CASES = shipped_cases()
each_gate = pytest.mark.parametrize("gate", all_gates(), ids=lambda gate: gate.name)
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def test_the_gates_stand_in_the_order_in_which_candidates_meet_them() -> None:
    assert [gate.name for gate in all_gates()] == [
        "support",
        "memory",
        "bandwidth",
        "compute",
        "utilisation",
        "interconnect",
        "economics",
    ]


@each_gate
@each_case
def test_an_answer_carries_its_name_a_status_and_what_it_rests_on(
    gate: Gate, case: Case
) -> None:
    result = gate.judge(case)

    assert result.gate == gate.name
    assert isinstance(result.status, Status)
    assert result.clause
    assert result.formula
    assert result.reason


@each_gate
@each_case
def test_all_sentences_find_their_numbers(gate: Gate, case: Case) -> None:
    result = gate.judge(case)

    for text in (result.reason, result.explanation):
        assert "{" not in text
    if result.bound is not None and result.assumption is not None and result.limit is not None:
        assert "unknown" not in result.reason


@each_gate
@each_case
def test_the_same_case_has_the_same_answer(gate: Gate, case: Case) -> None:
    assert gate.judge(case).to_json() == gate.judge(case).to_json()


@each_gate
@each_case
def test_json_is_strict(gate: Gate, case: Case) -> None:
    text = json.dumps(gate.judge(case).to_json(), allow_nan=False)

    assert json.loads(text)["gate"] == gate.name


@each_gate
@each_case
def test_what_a_gate_does_not_read_does_not_change_its_answer(gate: Gate, case: Case) -> None:
    place = case.placement
    other = {"name": "other", "title": "Other", "versions": ()}
    elsewhere = replace(place, runtime=place.runtime.model_copy(update=other), version="9")
    changed = {
        "placement": replace(case, sale=Sale(price=replace(price(case), value=1e6))),
        "ranks": replace(case, placement=elsewhere),
        "price": case,
    }[gate.reads]

    assert gate.judge(changed).to_json() == gate.judge(case).to_json()
    if gate.reads == "ranks":
        assert elsewhere.rank_facts == place.rank_facts


def price(case: Case) -> Quantity:
    assert case.sale.price is not None
    return case.sale.price


@each_case
def test_the_key_of_the_ranks_differs_where_a_fact_does(case: Case) -> None:
    place = case.placement
    more = Quantity(value=1.0, unit="B/s", basis=Basis.ASSUMPTION)
    others = [
        replace(place, achieved_bandwidth=more),
        replace(place, achieved_compute=more),
        replace(place, memory=more),
        replace(place, peak=more),
        replace(place, workspace=more),
        replace(place, offload=more),
        replace(place, link=None),
        replace(place, draft_tokens=7),
        replace(place, data_parallel=7),
        replace(place, utilisation=0.123),
        place.at_degree(4),
    ]

    keys = {other.rank_facts for other in others if other != place}

    assert place.rank_facts not in keys
    assert len(keys) == len([other for other in others if other != place])


@each_gate
@each_case
def test_without_any_fact_of_the_device_nothing_passes_that_needs_one(
    gate: Gate, case: Case
) -> None:
    place = case.placement
    device = place.device.model_copy(
        update={"memory": None, "memory_bandwidth": None, "compute": {}}
    )
    unknown = ("memory", "peak", "achieved_bandwidth", "achieved_compute", "link")
    bare = replace(place, device=device, **dict.fromkeys(unknown))

    result = gate.judge(case.with_placement(bare))

    if gate.name != "support":
        assert result.status in {Status.UNKNOWN, Status.NOT_APPLICABLE}
    if result.status is Status.UNKNOWN:
        assert result.reason.startswith("unknown: ")


@each_gate
@each_case
def test_no_gate_changes_its_case(gate: Gate, case: Case) -> None:
    before = {
        field.name: getattr(case.placement, field.name) for field in fields(case.placement)
    }

    gate.judge(case)

    assert before == {name: getattr(case.placement, name) for name in before}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package of gates with a new file in it, and a helper that is no gate."""
    folder = tmp_path / "planted_gates"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "moonlight.py").write_text(PLANTED)
    (folder / "_helper.py").write_text("raise RuntimeError('helpers are not imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("planted_gates")
    for name in [name for name in sys.modules if name.startswith("planted_gates")]:
        del sys.modules[name]


def test_a_new_file_is_a_new_gate_and_nothing_has_to_be_registered(planted: ModuleType) -> None:
    found = gates_in(planted)

    assert [(gate.order, gate.name, gate.reads) for gate in found] == [
        (2.5, "moonlight", "placement")
    ]


def test_a_new_gate_takes_its_place_and_votes(planted: ModuleType) -> None:
    order = tuple(sorted((*all_gates(), *gates_in(planted))))

    verdict = Judge(gates=order).verdict(CASES["canonical B"])

    assert [gate.gate for gate in verdict.gates][3] == "moonlight"
    assert verdict.verdict is Status.REJECT
    assert verdict.decided_by == "moonlight"


def test_what_is_not_modelled_is_unknown_at_every_gate() -> None:
    case = Unmodelled(name="x", reason="not modelled: pipeline parallelism", sale=Sale())

    verdict = Judge().verdict(case)

    assert verdict.verdict is Status.UNKNOWN
    assert {gate.status for gate in verdict.gates} == {Status.UNKNOWN}
    assert verdict.reason == "unknown: not modelled: pipeline parallelism"


def test_the_folder_of_gates_holds_nothing_but_gates_and_helpers() -> None:
    names = {path.stem for path in Path(gates.__path__[0]).glob("*.py")}

    gate_names = {gate.name for gate in all_gates()}

    assert {name for name in names if not name.startswith("_")} == gate_names
