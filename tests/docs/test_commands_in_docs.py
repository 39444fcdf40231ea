"""Commands on pages are commands: they parse, cheap ones run, outputs are today's."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from flows.cli import run, verbs

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CHEAP = ("screen", "plan", "catalog")
GROUPS = ("catalog", "machines", "doctor")
OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")
ELISION = "…"


@dataclass(frozen=True)
class Shown:
    """A command as a page shows it, with the lines of output below it, if any."""

    page: str
    words: tuple[str, ...]
    output: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def commands(page: Path) -> list[Shown]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    name = page.relative_to(ROOT).as_posix()
    blocks = re.findall(r"^```(?:console|sh|bash)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    lines += [line.strip() for block in blocks for line in block.splitlines()]
    found = (words_of(line) for line in lines if not line.startswith("$ "))
    return [Shown(name, words) for words in found if words is not None]


def words_of(line: str) -> tuple[str, ...] | None:
    """The words after ``runoff``; None for a line that is no command of ours."""
    if not re.match(r"(\.venv/bin/)?runoff [a-z-]", line):
        return None
    words = shlex.split(line, comments=True)
    return tuple(word for word in words[1:] if word != ELISION)


def transcripts(page: Path) -> list[Shown]:
    """Blocks of ``$ runoff …`` with the lines that it prints; ``…`` stands for any others."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *output = part.splitlines()
            found.append(
                Shown(
                    page.relative_to(ROOT).as_posix(),
                    words_of(line),
                    tuple(filter(None, output)),
                )
            )
    return found


ALL = [shown for page in PAGES for shown in commands(page)]
SPOKEN = [shown for page in PAGES for shown in transcripts(page)]


def is_cheap(shown: Shown) -> bool:
    """Whether it starts nothing, and names nothing that the checkout lacks."""
    files = [word for word in shown.words[1:] if word.endswith(".yaml")]
    files += [after for word, after in pairwise(shown.words) if word == "--catalog"]
    return shown.words[0] in CHEAP and all((ROOT / file).exists() for file in files)


@cache
def ended(words: tuple[str, ...]) -> tuple[int, str]:
    """Exit code and standard output of a command, run once."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = run(list(words))
    return code, said.getvalue()


def help_of(words: tuple[str, ...]) -> str:
    return ended((*words, "--help"))[1]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_pages_show_commands_and_outputs() -> None:
    assert len(ALL) > 40
    assert len(SPOKEN) >= 4


@pytest.mark.parametrize("shown", ALL, ids=str)
def test_a_command_of_a_page_has_its_verb_and_its_options(shown: Shown) -> None:
    verb, *rest = shown.words
    assert verb in verbs()

    asked = {match[0] for word in rest if (match := OPTION.match(word))}
    known = help_of((verb,))
    if verb in GROUPS and rest and not rest[0].startswith("-"):
        known += help_of((verb, rest[0]))
    assert asked <= {*OPTION.findall(known), "--help", "--debug"}


@pytest.mark.parametrize(
    "words", sorted({each.words for each in ALL if is_cheap(each)}), ids=" ".join
)
def test_a_command_that_starts_nothing_runs_as_it_is_shown(words: tuple[str, ...]) -> None:
    if any(word.isupper() for word in words):
        pytest.skip("it has a place to fill in")

    assert ended(words)[0] in (0, 3)


@pytest.mark.parametrize("shown", SPOKEN, ids=str)
def test_the_output_on_the_page_is_what_is_printed_today(shown: Shown) -> None:
    left = iter(_plain(line) for line in ended(shown.words)[1].splitlines())
    missing = [
        line for line in shown.output if line.strip() != ELISION and not _comes(line, left)
    ]
    assert missing == []


def _comes(line: str, left) -> bool:
    """Whether the line is among those that are still to come, in this order."""
    wanted = _plain(line).split(ELISION)
    return any(_fits(wanted, each) for each in left)


def _fits(parts: list[str], line: str) -> bool:
    pattern = ".*".join(re.escape(part.strip()) for part in parts)
    return re.fullmatch(pattern.replace(r"\ ", r"\s+"), line) is not None


def _plain(line: str) -> str:
    return " ".join(line.split())
