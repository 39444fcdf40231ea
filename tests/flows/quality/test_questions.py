"""A file of questions becomes a task, or is refused with its line."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
import yaml

from flows.errors import UsageError
from flows.quality.questions import kind_of, read_questions, write_task

LETTERS = '{"question": "What is 2 + 3?", "choices": ["4", "5"], "answer": "B"}'
TEXT = '{"question": "What is 2 + 3?", "answer": " 5 "}'


def written(folder, *lines):
    path = folder / "questions.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_choices_are_put_with_letters_and_asked_by_likelihood_where_it_is_had(tmp_path):
    other = LETTERS.replace("2 + 3", "3 + 2")
    questions = read_questions(written(tmp_path, LETTERS, "", other))

    assert len(questions.rows) == 2
    assert questions.rows[0]["prompt"] == (
        "Question: What is 2 + 3?\nA. 4\nB. 5\nAnswer with the letter alone.\nAnswer:"
    )
    assert questions.rows[0]["letters"] == [" A", " B"]
    assert questions.rows[0]["target"] == 1
    assert kind_of(questions, has_prompt_logprobs=True) == "log-likelihood"
    assert kind_of(questions, has_prompt_logprobs=False) == "generation"


def test_an_answer_that_is_a_text_is_always_written(tmp_path):
    questions = read_questions(written(tmp_path, TEXT))

    assert questions.rows[0]["answer"] == "5"
    assert kind_of(questions, has_prompt_logprobs=True) == "generation"


@pytest.mark.parametrize(
    ("kind", "output"),
    [("log-likelihood", "multiple_choice"), ("generation", "generate_until")],
)
def test_the_task_s_file_is_the_harness_s_own_form(tmp_path, kind, output):
    questions = read_questions(written(tmp_path, LETTERS))

    task = yaml.safe_load(write_task(questions, "own", kind, tmp_path).read_text())

    assert task["output_type"] == output
    assert pq.read_table(tmp_path / "own.parquet").to_pylist() == list(questions.rows)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("no json", "no JSON"),
        ("[1]", "has no question"),
        ('{"question": "\\ud800", "answer": "a"}', "half a character"),
        ('{"question": 1}', "has no question"),
        ('{"question": " ", "answer": "a"}', "has no question"),
        ('{"question": "a"}', "its answer is no text"),
        ('{"question": "a", "answer": "b\\nc"}', "more than one line"),
        ('{"question": "a", "answer": " "}', "its answer is no text"),
        ('{"question": "a", "answer": "b", "hint": 1}', "unknown key 'hint'"),
        ('{"question": "a", "choices": ["x"], "answer": "A"}', "not 2 to 26 texts"),
        ('{"question": "a", "choices": ["x", 1], "answer": "A"}', "not 2 to 26 texts"),
        ('{"question": "a", "choices": ["x", "y"], "answer": "C"}', "none of A, B"),
        ('{"question": "a", "choices": ["x", "y"], "answer": 1}', "none of A, B"),
    ],
)
def test_a_line_that_is_no_question_is_refused_by_its_number(tmp_path, line, seen):
    path = written(tmp_path, LETTERS, line)

    with pytest.raises(UsageError) as refused:
        read_questions(path)

    assert refused.value.where == f"{path}:2"
    assert seen in refused.value.seen


@pytest.mark.parametrize(
    ("lines", "seen"), [((), "no question"), ((LETTERS, TEXT), "some questions have choices")]
)
def test_a_file_that_is_no_task_is_refused(tmp_path, lines, seen):
    with pytest.raises(UsageError, match=seen):
        read_questions(written(tmp_path, *lines))


def test_a_question_that_is_asked_again_is_refused_for_it_proves_nothing_more(tmp_path):
    path = written(tmp_path, LETTERS, TEXT.replace("2 + 3", "3 + 4"), LETTERS)

    with pytest.raises(UsageError, match="line 1 again") as refused:
        read_questions(path)

    assert refused.value.where == f"{path}:3"


def test_a_text_may_hold_what_unicode_calls_an_end_of_line(tmp_path):
    text = '{"question": "Which\u2028sign?", "answer": "a\x85b"}'

    assert read_questions(written(tmp_path, text)).rows[0]["answer"] == "a\x85b"


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl")
