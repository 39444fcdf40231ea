"""The pages on signoff and interop name what the commands ask and take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy_templates.deployments import ways
from flows.cli import run
from reports.interop import tools

DOCS = Path(__file__).parents[2] / "docs"
SIGNOFF = (DOCS / "signoff.md").read_text(encoding="utf-8")
INTEROP = (DOCS / "interop.md").read_text(encoding="utf-8")


def options(verb: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    run([verb, "--help"])
    return set(re.findall(r"--[a-z]+(?:-[a-z]+)*", capsys.readouterr().out)) - {"--help"}


@pytest.mark.parametrize(
    ("verb", "page"), [("check", SIGNOFF), ("signoff", SIGNOFF), ("export", INTEROP)]
)
def test_every_option_is_on_its_page(verb: str, page: str, capsys) -> None:
    assert sorted(name for name in options(verb, capsys) if name not in page) == []


def test_every_question_of_check_is_explained() -> None:
    source = (DOCS.parent / "flows" / "check_run.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'Row\(\s*id="(\w+)"', source))
    asked |= set(re.findall(r'_(?:troubled|compared)\("(\w+)"', source))

    assert asked >= {"manifest", "conclusion", "signature"}
    assert [name for name in sorted(asked) if f"| `{name}` |" not in SIGNOFF] == []


def test_every_tool_and_every_way_is_on_its_page() -> None:
    assert [tool for tool in tools() if f"--tool {tool}" not in INTEROP] == []
    assert [way for way in ways() if way not in INTEROP] == []
