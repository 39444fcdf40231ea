"""Conversations are read from the shapes that public files have."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from flows.load.datasets import Session, Turn, read_dataset

SHAREGPT = [
    {
        "id": "a_0",
        "conversations": [
            {"from": "human", "value": "Why is the sky blue?"},
            {"from": "gpt", "value": "Rayleigh scattering."},
            {"from": "human", "value": "And at dusk?"},
            {"from": "gpt", "value": "A longer path."},
        ],
    },
    {"id": "b_0", "conversations": [{"from": "gpt", "value": "An answer without a question."}]},
    {
        "id": "c_0",
        "conversations": [
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": "Hi"},
        ],
    },
]
SKY = Session(
    system="",
    turns=(
        Turn(question="Why is the sky blue?", answer="Rayleigh scattering."),
        Turn(question="And at dusk?", answer="A longer path."),
    ),
)


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    else:
        path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize("name", ["sharegpt.json", "sharegpt.jsonl", "sharegpt.parquet"])
def test_sharegpt_rows_become_sessions_in_json_json_lines_and_parquet(tmp_path, name):
    sessions = read_dataset(written(tmp_path / name, SHAREGPT))

    assert sessions[0] == SKY
    assert sessions[1] == Session(system="Be brief.", turns=(Turn(question="Hi", answer=""),))
    assert len(sessions) == 2


def test_openai_messages_are_read_with_lengths_think_times_and_parts(tmp_path):
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "Seen.", "output_tokens": 7},
        {"role": "user", "content": "More", "think_ms": 1500},
    ]

    (session,) = read_dataset(written(tmp_path / "chat.jsonl", [{"messages": chat}]))

    assert session.turns == (
        Turn(question="Look", answer="Seen.", output_tokens=7),
        Turn(question="More", answer="", think_ms=1500.0),
    )


def test_plain_prompts_are_sessions_of_one_turn(tmp_path):
    rows = [{"prompt": "One", "output_tokens": 12}, {"prompt": "Two", "completion": "2"}]

    sessions = read_dataset(written(tmp_path / "prompts.jsonl", rows))

    assert [session.turns[0] for session in sessions] == [
        Turn(question="One", answer="", output_tokens=12),
        Turn(question="Two", answer="2"),
    ]


def test_a_later_turn_is_asked_with_the_recorded_history():
    assert SKY.messages(0) == [{"role": "user", "content": "Why is the sky blue?"}]
    assert SKY.messages(1) == [
        {"role": "user", "content": "Why is the sky blue?"},
        {"role": "assistant", "content": "Rayleigh scattering."},
        {"role": "user", "content": "And at dusk?"},
    ]


def test_a_later_text_prompt_starts_with_the_earlier_one_so_that_history_is_shared():
    assert SKY.text(1) == SKY.text(0) + (
        " Rayleigh scattering.\nuser: And at dusk?\nassistant:"
    )


def test_a_single_question_is_sent_as_it_is():
    assert Session(system="", turns=(Turn(question="Why?", answer="So."),)).text(0) == "Why?"


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        ("a.json", "[1, 2", "a.json: not JSON"),
        ("a.jsonl", '{"prompt": "x"}\n{"prompt": ', "a.jsonl:2: not JSON"),
        ("a.jsonl", '{"input": "x"}\n', "keys ['input']"),
        ("a.json", "[]", "no rows"),
        ("a.parquet", "PAR1", "a.parquet: not Parquet"),
    ],
)
def test_a_file_that_holds_no_prompts_is_refused_with_what_was_seen(tmp_path, name, text, seen):
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(ValueError) as caught:
        read_dataset(path)

    assert seen in str(caught.value)
