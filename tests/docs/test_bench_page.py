"""The page on load tests names every option and every verdict."""

from __future__ import annotations

import re
from pathlib import Path

from flows.cli import run
from reports.cell import Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")


def test_every_option_of_bench_is_documented_and_every_documented_one_exists(capsys):
    run(["bench", "--help"])

    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", capsys.readouterr().out)) - {"--help"}
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", PAGE.partition("## Where")[2]))
    assert sorted(options - named) == []
    assert sorted(named - options) == []


def test_every_verdict_is_explained():
    assert [verdict for verdict in Verdict if f"| `{verdict.value}` |" not in PAGE] == []
