"""The page on campaigns names every option of the command, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from flows.cli import run

PAGE = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
OPTION = r"--[a-z]+(?:-[a-z]+)*"


def test_every_option_is_documented_and_every_documented_one_exists(capsys):
    run(["compare", "--help"])

    options = set(re.findall(OPTION, capsys.readouterr().out)) - {"--help"}
    assert sorted(options ^ set(re.findall(OPTION, PAGE))) == []
