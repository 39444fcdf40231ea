"""The reference pages are what the code makes of itself."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from catalog.json_schema import json_schema
from catalog.meanings import MEANINGS
from catalog.schema import Campaign
from flows import errors
from flows.errors import ExitCode

ROOT = Path(__file__).parents[2]


def _made() -> dict[Path, str]:
    script = ROOT / "benchmarks" / "make_reference_pages.py"
    spec = importlib.util.spec_from_file_location("make_reference_pages", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


MADE = _made()


@pytest.mark.parametrize("place", MADE, ids=lambda place: place.name)
def test_the_page_is_what_the_script_writes_now(place: Path) -> None:
    assert place.read_text(encoding="utf-8") == MADE[place], (
        "run python benchmarks/make_reference_pages.py"
    )


def test_every_key_has_a_meaning_and_no_meaning_is_without_its_key() -> None:
    schema = json_schema("campaign")
    parts = {"Campaign": schema, **schema["$defs"]}

    assert {name: set(part["properties"]) for name, part in parts.items()} == {
        name: set(meanings) for name, meanings in MEANINGS.items()
    }


def test_the_page_shows_every_key_of_every_part_with_its_default() -> None:
    page = MADE[ROOT / "docs" / "reference" / "campaign-fields.md"]

    assert all(f"| `{key}` |" in page for keys in MEANINGS.values() for key in keys)
    assert "| `replications` | whole number, at least 1 | `5` |" in page
    assert _top_level(Campaign) == re.findall(
        r"^\| `(\w+)` \|", page.partition("## Top level")[2].partition("##")[0], re.MULTILINE
    )


def test_the_readme_has_the_same_exit_codes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    rows = [f"| {code.value} | {meaning} |" for code, meaning in errors.MEANINGS.items()]
    assert [row for row in rows if row not in readme] == []
    assert set(errors.MEANINGS) == set(ExitCode)


def _top_level(model: type[BaseModel]) -> list[str]:
    return list(model.model_fields)
