"""Answers and scores as tables: what a verdict on quality is made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from reports.errors import ReportsError

Who = Literal["reference", "again", "candidate"]

_ANSWERS: Final = pa.schema(
    [
        ("who", pa.string()),
        ("prompt", pa.int32()),
        ("depth", pa.int32()),
        ("tokens", pa.list_(pa.string())),
        ("top_tokens", pa.list_(pa.string())),
        ("top_logprobs", pa.list_(pa.float64())),
    ]
)
_SAMPLES: Final = pa.schema(
    [
        ("task", pa.string()),
        ("kind", pa.string()),
        ("metric", pa.string()),
        ("question", pa.string()),
        ("target", pa.string()),
        ("reference", pa.float64()),
        ("candidate", pa.float64()),
        ("reference_answer", pa.string()),
        ("candidate_answer", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What followed a prompt and the first ``depth`` tokens of the reference's answer.

    At depth 0 ``tokens`` is the whole greedy answer, else its next token. ``top`` are the most
    likely tokens at its first position, natural log-probabilities.
    """

    who: Who
    prompt: int
    depth: int
    tokens: tuple[str, ...]
    top: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question of a task: what both scored and answered."""

    task: str
    kind: str
    metric: str
    question: str
    target: str
    reference: float
    candidate: float
    reference_answer: str
    candidate_answer: str


def answers_name(candidate: str) -> str:
    """The file of a candidate's answers."""
    return f"{candidate}.answers.parquet"


def samples_name(candidate: str) -> str:
    """The file of a candidate's scores."""
    return f"{candidate}.samples.parquet"


def answers_bytes(answers: Iterable[Answer]) -> bytes:
    """The answers as a Parquet file."""
    rows: list[dict[str, object]] = [
        {
            "who": each.who,
            "prompt": each.prompt,
            "depth": each.depth,
            "tokens": list(each.tokens),
            "top_tokens": list(each.top),
            "top_logprobs": list(each.top.values()),
        }
        for each in answers
    ]
    return _parquet(rows, _ANSWERS)


def samples_bytes(samples: Iterable[Sample]) -> bytes:
    """The scores as a Parquet file."""
    names = _SAMPLES.names
    return _parquet([{n: getattr(each, n) for n in names} for each in samples], _SAMPLES)


def read_answers(path: Path) -> tuple[Answer, ...]:
    """The answers of a file; raises ReportsError for one that holds none."""
    return tuple(
        Answer(
            who=row["who"],
            prompt=row["prompt"],
            depth=row["depth"],
            tokens=tuple(row["tokens"]),
            top=dict(zip(row["top_tokens"], row["top_logprobs"], strict=True)),
        )
        for row in _rows(path, _ANSWERS)
    )


def read_samples(path: Path) -> tuple[Sample, ...]:
    """The scores of a file; raises ReportsError for one that holds none."""
    return tuple(Sample(**row) for row in _rows(path, _SAMPLES))


def _parquet(rows: list[dict[str, object]], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _rows(path: Path, schema: pa.Schema) -> list[dict[str, Any]]:
    try:
        table = pq.read_table(path, schema=schema)
    except (OSError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        seen = str(error).splitlines()[0]
        raise ReportsError(str(path), f"it cannot be read: {seen}", "Restore it") from error
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
