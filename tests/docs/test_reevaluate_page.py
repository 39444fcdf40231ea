"""The page on re-evaluation names what the command takes and what it can answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from flows.cli import run
from reports.run.baseline_file import Versions
from reports.run.reevaluation_file import Answer, Kind

PAGE = (Path(__file__).parents[2] / "docs" / "reevaluate.md").read_text(encoding="utf-8")


def test_every_option_is_on_the_page(capsys) -> None:
    run(["reevaluate", "--help"])
    there = set(re.findall(r"--[a-z]+(?:-[a-z0-9]+)*", capsys.readouterr().out)) - {"--help"}

    assert {"--baseline", "--baseline-sha256", "--notify"} <= there
    assert sorted(name for name in there if name not in PAGE) == []


def test_every_answer_reason_and_choice_of_releases_is_on_the_page() -> None:
    words = (*get_args(Answer), *get_args(Kind), *get_args(Versions))

    assert [word for word in words if f"| `{word}`" not in PAGE] == []
