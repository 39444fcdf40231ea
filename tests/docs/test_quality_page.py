"""The page on quality: its questions are files that can be asked."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from flows.quality.questions import read_questions

PAGE = Path(__file__).parents[2] / "docs" / "quality.md"


def blocks() -> list[list[str]]:
    """The page's blocks of questions, line by line."""
    runs = groupby(PAGE.read_text().splitlines(), key=lambda line: line.startswith('    {"q'))
    return [[line.strip() for line in lines] for is_block, lines in runs if is_block]


def test_each_block_of_questions_is_a_file_of_one_kind(tmp_path):
    found = []
    for number, lines in enumerate(blocks()):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("\n".join(lines))
        found.append(read_questions(path))

    assert [each.has_choices for each in found] == [True, False]
