"""Conversations from a file: what users asked, and what was recorded as the answer.

Read are JSON (a list), JSON lines and Parquet, each row in one of these shapes:

    {"conversations": [{"from": "human", "value": …}, {"from": "gpt", "value": …}, …]}
    {"messages": [{"role": "user", "content": …}, {"role": "assistant", "content": …}, …]}
    {"prompt": …, "completion": …, "output_tokens": …, "think_ms": …}

A row with several user messages is a session: each turn is sent with the recorded history
before it, so that every candidate is asked the same whatever it answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_ROLES: Final = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "assistant": "assistant",
    "system": "system",
}
_PROMPT_KEYS: Final = ("prompt", "text", "question", "instruction")
_ANSWER_KEYS: Final = ("completion", "output", "response", "answer")
_LENGTH_KEYS: Final = ("output_tokens", "output_length", "output_len", "max_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question with its recorded answer; None where the file does not say."""

    question: str
    answer: str
    output_tokens: int | None = None
    think_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation: what the system was told, and the turns in order."""

    system: str
    turns: tuple[Turn, ...]

    def messages(self, turn: int) -> list[dict[str, str]]:
        """The chat messages of one turn: recorded history, then the question."""
        chat = [{"role": "system", "content": self.system}] if self.system else []
        for earlier in self.turns[:turn]:
            chat.append({"role": "user", "content": earlier.question})
            chat.append({"role": "assistant", "content": earlier.answer})
        return [*chat, {"role": "user", "content": self.turns[turn].question}]

    def text(self, turn: int) -> str:
        """The same as plain text, for endpoints that complete text."""
        if len(self.turns) == 1 and not self.system:
            return self.turns[0].question
        lines = [f"{message['role']}: {message['content']}" for message in self.messages(turn)]
        return "\n".join([*lines, "assistant:"])


def read_dataset(path: Path) -> tuple[Session, ...]:
    """The conversations of a file, in its order; rows without a question are left out.

    Raises
    ------
    ValueError
        With the file and what was seen, where no row can be used.
    """
    rows = list(_rows(path))
    sessions = tuple(session for row in rows if (session := _session(row)) is not None)
    if not sessions:
        seen = f"keys {sorted(rows[0])}" if rows and isinstance(rows[0], dict) else "no rows"
        raise ValueError(
            f"{path}: {seen}; a row needs conversations, messages or a prompt, as in "
            '{"prompt": "Why is the sky blue?", "output_tokens": 128}'
        )
    return sessions


def _rows(path: Path) -> Iterable[Any]:
    if path.suffix == ".parquet":
        return _parquet_rows(path)
    text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        try:
            return list(json.loads(text))
        except ValueError as error:
            raise ValueError(f"{path}: not JSON: {error}") from None
    return _json_lines(path, text)


def _json_lines(path: Path, text: str) -> Iterator[Any]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}:{number}: not JSON: {error}") from None


def _parquet_rows(path: Path) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415  (a third of a second that other shapes save)
    from pyarrow import parquet  # noqa: PLC0415

    try:
        return list(parquet.read_table(path).to_pylist())
    except pa.ArrowException as error:
        raise ValueError(f"{path}: not Parquet: {error}") from None


def _session(row: Any) -> Session | None:
    if not isinstance(row, Mapping):
        return None
    chat = row.get("conversations") or row.get("conversation") or row.get("messages")
    if isinstance(chat, list):
        return _conversation(chat)
    question = _first(row, _PROMPT_KEYS)
    if not isinstance(question, str) or not question:
        return None
    return Session(system="", turns=(_turn(question, row),))


def _turn(question: str, row: Mapping[str, Any]) -> Turn:
    answer, tokens = _first(row, _ANSWER_KEYS), _first(row, _LENGTH_KEYS)
    return Turn(
        question=question,
        answer=answer if isinstance(answer, str) else "",
        output_tokens=max(int(tokens), 1) if isinstance(tokens, int | float) else None,
        think_ms=_milliseconds(row),
    )


def _conversation(chat: list[Any]) -> Session | None:
    """Turns of a list of messages: each user message, with the answers that follow it."""
    system, turns = "", list[Turn]()
    for message in chat:
        role, text = _said(message)
        if role == "system" and not turns:
            system = text
        elif role == "user" and text:
            turns.append(Turn(question=text, answer="", think_ms=_milliseconds(message)))
        elif role == "assistant" and turns and not turns[-1].answer:
            tokens = _first(message, _LENGTH_KEYS)
            known = max(int(tokens), 1) if isinstance(tokens, int | float) else None
            turns[-1] = Turn(
                question=turns[-1].question,
                answer=text,
                output_tokens=known,
                think_ms=turns[-1].think_ms,
            )
    return Session(system=system, turns=tuple(turns)) if turns else None


def _said(message: Any) -> tuple[str, str]:
    if not isinstance(message, Mapping):
        return "", ""
    role = _ROLES.get(str(message.get("from") or message.get("role")), "")
    text = message.get("value") or message.get("content") or ""
    if isinstance(text, list):
        parts = (part.get("text") for part in text if isinstance(part, Mapping))
        text = "".join(part for part in parts if isinstance(part, str))
    return role, text if isinstance(text, str) else ""


def _milliseconds(row: Mapping[str, Any]) -> float | None:
    value = row.get("think_ms")
    return float(value) if isinstance(value, int | float) else None


def _first(row: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)
