"""gates.json is enough to say again all that the paper vote said."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.screen import screen
from deploy_templates.registry import load_runtimes
from reports.errors import ReportsError
from reports.paper_tables import gate_table
from reports.screen_file import read_screen, screen_of
from reports.table_one import table_one
from reports.words import choice, elimination, not_passed


@pytest.fixture(scope="module", params=["canonical", "exercise", "offline_cpu"])
def original(request):
    """The paper vote over one of the campaigns that are shipped."""
    path = shipped_catalog() / "campaigns" / f"{request.param}.yaml"
    return screen(load_campaign(path), load_catalog(), load_runtimes(), dt.date(2026, 8, 22))


def test_a_screen_read_back_says_the_same(original) -> None:
    written = json.loads(json.dumps(original.to_json()))

    found = screen_of(written)

    assert [each.to_json()["gates"] for each in found.candidates] == [
        each["gates"] for each in written["candidates"]
    ]
    assert found.contract.to_json() == written["contract"]
    assert found.primary is None or found.primary.name == original.primary.name


def test_its_tables_and_sentences_are_those_of_the_original(original) -> None:
    found = screen_of(json.loads(json.dumps(original.to_json())))

    assert gate_table(found) == gate_table(original)
    assert table_one(found, {}) == table_one(original, {})
    assert [elimination(each) for each in not_passed(found)] == [
        elimination(each) for each in not_passed(original)
    ]
    assert len(choice(found)) == len(choice(original))


def test_a_run_without_gates_has_no_screen(tmp_path) -> None:
    assert read_screen(tmp_path / "gates.json") is None


def test_a_file_that_is_no_screen_is_refused_with_its_place(tmp_path) -> None:
    path = tmp_path / "gates.json"
    path.write_text('{"name": "x"}')

    with pytest.raises(ReportsError, match=r"gates\.json: it holds no screen"):
        read_screen(path)
