"""The guides' first steps work, the map has every page, the worked example is computed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from flows.cli import run
from reports.cell.latency import latencies
from reports.columns import FIELD_TYPES, RequestColumns

DOCS = Path(__file__).parents[2] / "docs"
MS = 1_000_000
KINDS = {"Ints": np.int64, "Flags": np.bool_, "Texts": np.object_, "Flat": np.float32}


def test_the_map_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([^)#]+)", (DOCS / "README.md").read_text(encoding="utf-8")))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}

    assert pages - linked == {"README.md", "example/README.md"}


def test_a_campaign_is_begun_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "guides" / "compare.md").read_text(encoding="utf-8")
    steps = re.findall(r"^ {7}runoff (init|screen|plan) (.*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)

    codes = [run([verb, *words.split()]) for verb, words in steps]

    assert [verb for verb, _ in steps] == ["init", "screen", "plan"]
    assert codes == [0, 0, 0], capsys.readouterr().err


def test_the_worked_example_of_latencies_is_what_is_computed() -> None:
    page = (DOCS / "concepts" / "latency.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|$", page, re.MULTILINE))
    chunks_ms = [104, 124, 144, 194]
    values = {
        "scheduled_ns": [0],
        "sent_ns": [4 * MS],
        "first_token_ns": [chunks_ms[0] * MS],
        "first_answer_ns": [chunks_ms[0] * MS],
        "last_token_ns": [chunks_ms[-1] * MS],
        "done_ns": [195 * MS],
        "output_tokens": [4],
        "gap_us": np.diff(chunks_ms) * 1e3,
        "gap_offsets": [0, 3],
        "chunk_tokens": [1, 1, 1, 1],
        "chunk_offsets": [0, 4],
    }
    columns = RequestColumns(
        **{
            name: np.array(values.get(name, [0]), dtype=KINDS[kind])
            for name, kind in FIELD_TYPES.items()
        }
    )

    found = latencies(columns)

    assert {name: float(getattr(found, name)[0]) for name in stated} == {
        name: pytest.approx(float(value)) for name, value in stated.items()
    }
    assert len(stated) == 7
