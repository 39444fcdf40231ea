"""Tasks of one's own: questions in a JSONL file, made into what lm-evaluation-harness reads.

A line is ``{"question": …, "choices": […], "answer": "B"}``, or without choices a question
whose answer is a text. Questions with choices are put with letters before them, and answered
by the likelihood of each letter or, where a server gives none, by writing the letter.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from flows.errors import UsageError
from reports.run.quality_file import TaskKind

_MOST_BYTES: Final = 64 * 2**20
_KEYS: Final = frozenset({"question", "choices", "answer"})
_LETTER_TOKENS, _TEXT_TOKENS = 8, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """A file of questions, checked; ``sha256`` is the file's."""

    path: Path
    sha256: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def has_choices(self) -> bool:
        """Whether its answers are letters."""
        return "letters" in self.rows[0]


def read_questions(path: Path) -> Questions:
    """The questions of a file.

    Raises
    ------
    UsageError
        With the line that is none.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(str(path), "it is larger than 64 MiB", "Take fewer questions")
        content = path.read_bytes()
        lines = content.decode().split("\n")  # a text may hold other signs that end a line
    except (OSError, UnicodeDecodeError) as error:
        seen = getattr(error, "strerror", None) or str(error)
        raise UsageError(str(path), f"it cannot be read: {seen}", "Check the path") from None
    rows = tuple(_rows(path, lines))
    if not rows:
        raise UsageError(str(path), "it holds no question", "Write one in each line")
    if len({"letters" in row for row in rows}) > 1:
        raise UsageError(
            str(path),
            "some questions have choices and some have none",
            "Make two files of them",
        )
    return Questions(path=path, sha256=hashlib.sha256(content).hexdigest(), rows=rows)


def write_task(questions: Questions, name: str, kind: TaskKind, folder: Path) -> Path:
    """A task's file for the harness under a name; its questions lie beside it.

    They are a table, whose texts stay texts: from JSON a loader would make times of dates.
    """
    data = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist([dict(row) for row in questions.rows]), data)
    task = folder / f"{name}.yaml"
    task.write_text(yaml.safe_dump(_task(questions, name, kind, data), sort_keys=False))
    return task


def kind_of(questions: Questions, *, has_prompt_logprobs: bool) -> TaskKind:
    """How its answers are had."""
    return "log-likelihood" if questions.has_choices and has_prompt_logprobs else "generation"


def _task(questions: Questions, name: str, kind: TaskKind, data: Path) -> dict[str, Any]:
    task: dict[str, Any] = {
        "task": name,
        "dataset_path": "parquet",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "{{prompt}}",
        "metadata": {"version": 1},
    }
    if kind == "log-likelihood":
        return task | {
            "output_type": "multiple_choice",
            "doc_to_choice": "{{letters}}",
            "doc_to_target": "{{target}}",
            "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        }
    is_letter = questions.has_choices
    pattern = r"\b([A-Z])\b" if is_letter else r"^\s*(.*?)\s*\.?\s*$"
    return task | {
        "output_type": "generate_until",
        "doc_to_target": "answer",  # the field: a template would make a list of "[1, 2]"
        "generation_kwargs": {
            "until": ["\n\n"] if is_letter else ["\n"],
            "max_gen_toks": _LETTER_TOKENS if is_letter else _TEXT_TOKENS,
            "do_sample": False,
            "temperature": 0.0,
        },
        "filter_list": [
            {
                "name": "letter" if is_letter else "line",
                "filter": [
                    {"function": "regex", "regex_pattern": pattern},
                    {"function": "take_first"},
                ],
            }
        ],
        "metric_list": [
            {
                "metric": "exact_match",
                "aggregation": "mean",
                "higher_is_better": True,
                "ignore_case": True,
            }
        ],
    }


def _rows(path: Path, lines: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Each question once: one that is asked again is no further evidence."""
    asked: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _row(f"{path}:{number}", line)
        first = asked.setdefault(row["prompt"], number)
        if first != number:
            raise UsageError(
                f"{path}:{number}",
                f"it is the question of line {first} again",
                "Ask each question once: a repeated one proves nothing more",
            )
        yield row


def _row(where: str, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UsageError(where, f"it is no JSON ({error})", _EXAMPLE) from None
    if _has_half_character(row):
        raise UsageError(where, "it holds half a character (a lone surrogate)", _EXAMPLE)
    question = row.get("question") if isinstance(row, dict) else None
    if not isinstance(question, str) or not question.strip():
        raise UsageError(where, "it has no question", _EXAMPLE)
    unknown = sorted(set(row) - _KEYS)
    if unknown:
        raise UsageError(where, f"unknown key {unknown[0]!r}", _EXAMPLE)
    if "choices" not in row:
        if not isinstance(row.get("answer"), str) or not row["answer"].strip():
            raise UsageError(where, "its answer is no text", _EXAMPLE)
        answer = row["answer"].strip()
        if "\n" in answer:
            raise UsageError(where, "its answer has more than one line", "Ask for one line")
        return {
            "prompt": f"Question: {question}\nAnswer:",
            "answer": answer.removesuffix("."),  # what is written loses its full stop too
        }
    return _with_letters(where, question, row["choices"], row.get("answer"))


def _with_letters(
    where: str, question: str, choices: object, answer: object
) -> Mapping[str, Any]:
    if not _are_texts(choices):
        raise UsageError(where, "its choices are not 2 to 26 texts", _EXAMPLE)
    letters = list(string.ascii_uppercase[: len(choices)])
    if answer not in letters:
        raise UsageError(
            where, f"its answer {answer!r} is none of {', '.join(letters)}", _EXAMPLE
        )
    listed = "\n".join(f"{a}. {text}" for a, text in zip(letters, choices, strict=True))
    return {
        "prompt": f"Question: {question}\n{listed}\nAnswer with the letter alone.\nAnswer:",
        "letters": [f" {letter}" for letter in letters],
        "target": letters.index(str(answer)),
        "answer": answer,
    }


def _has_half_character(row: object) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _are_texts(choices: object) -> TypeGuard[Sequence[str]]:
    return (
        isinstance(choices, list)
        and 2 <= len(choices) <= len(string.ascii_uppercase)
        and all(isinstance(each, str) for each in choices)
    )


_EXAMPLE: Final = (
    'As in {"question": "What is 2 + 3?", "choices": ["4", "5"], "answer": "B"}, '
    'or {"question": "What is 2 + 3?", "answer": "5"}'
)
