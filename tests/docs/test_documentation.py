"""Every verb has help and is documented; links lead somewhere; examples are what they seem."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from catalog.gates import all_gates
from catalog.quantity import Basis
from catalog.schema import Campaign, Candidate, Contract, Matrix
from catalog.verdict import Status
from flows.cli import run, verbs
from reports.phrases import GATE_NUMBERS, TAGS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}


def page(name: str) -> str:
    return TEXTS[ROOT / "docs" / name]


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_has_help_that_says_what_it_does(verb: str, capsys) -> None:
    assert run([verb, "--help"]) == 0

    usage, _, described = capsys.readouterr().out.partition("Usage:")[2].partition("\n")
    assert f"runoff {verb}" in usage
    assert described.strip()


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_is_documented(verb: str) -> None:
    assert f"`runoff {verb}`" in page("commands.md")


@pytest.mark.parametrize("source", PAGES, ids=lambda source: source.name)
def test_links_between_pages_lead_somewhere(source: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", TEXTS[source])
    files = [link for link in links if "://" not in link]

    assert [link for link in files if not (source.parent / link).exists()] == []


@pytest.mark.parametrize("source", PAGES, ids=lambda source: source.name)
def test_files_that_pages_name_exist(source: Path) -> None:
    named = re.findall(r"`((?:catalog|docs|tests|benchmarks)/[\w./-]+\w)`", TEXTS[source])
    made = set(re.findall(r"`(\S+)`:\n\n```", TEXTS[source]))  # a recipe's own files

    assert [name for name in named if name not in made and not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "option",
    ["--explain", "--all-offers", "--limit", "--json", "--report", "--catalog", "--today"],
)
def test_options_of_screen_are_documented_and_exist(option: str, capsys) -> None:
    run(["screen", "--help"])

    assert f"`{option}" in page("screen.md")
    assert option in capsys.readouterr().out


@pytest.mark.parametrize(
    "model", [Campaign, Contract, Matrix], ids=lambda model: model.__name__
)
def test_every_key_of_the_campaign_file_is_documented(model) -> None:
    missing = [key for key in model.model_fields if f"`{key}`" not in page("campaign-file.md")]

    assert missing == []


def test_every_key_of_a_candidate_is_documented_or_said_to_be_unmodelled() -> None:
    documented = page("campaign-file.md")
    missing = [key for key in Candidate.model_fields if f"`{key}`" not in documented]

    assert missing == []


def test_every_gate_and_status_is_documented() -> None:
    text = page("concepts/gates.md")

    assert {gate.name for gate in all_gates()} == set(GATE_NUMBERS)
    assert all(f"{number} `{gate}`" in text for gate, number in GATE_NUMBERS.items())
    assert all(f"`{status.value}`" in text for status in Status)


def test_every_basis_is_documented_with_its_tag() -> None:
    text = page("concepts/basis.md")

    assert set(TAGS) == set(Basis)
    assert all(f"| `{tag}` | {basis.value} |" in text for basis, tag in TAGS.items())
