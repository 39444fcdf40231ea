"""Requests of a cell, made to measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from reports.columns import FIELD_TYPES, NULL, RAGGED, RequestColumns, offsets_of

MS = 1_000_000
CellOf = Callable[..., RequestColumns]


def build_cell(
    due_ms,
    *,
    ttft_ms=50.0,
    gaps_ms=(10.0,) * 9,
    lag_ms=0.1,
    tail_ms=0.1,
    **changes,
) -> RequestColumns:
    """Successful measured requests due at `due_ms`; `changes` replaces whole columns.

    `ttft_ms` counts from the due time, and `gaps_ms` are one request's or one list for each.
    A change may be one value for all or one per request; None is unknown.
    """
    due_ns = np.rint(np.asarray(due_ms, dtype=float) * MS).astype(np.int64)
    count = len(due_ns)
    many = gaps_ms if len(gaps_ms) and np.ndim(gaps_ms[0]) else [gaps_ms] * count
    gap_us = [np.asarray(one, dtype=np.float32) * np.float32(1000) for one in many]
    gaps = np.array([len(one) for one in gap_us], dtype=np.int64)
    first_ns = due_ns + np.rint(np.broadcast_to(ttft_ms, count) * MS).astype(np.int64)
    span_ms = np.array([np.sum(one, dtype=float) for one in many])
    last_ns = first_ns + np.rint(span_ms * MS).astype(np.int64)
    values = {
        "run": "run",
        "cell": "cell",
        "launch": "launch",
        "replication": 0,
        "shard": 0,
        "sequence": np.arange(count),
        "prompt": np.arange(count),
        "session": np.arange(count),
        "turn": 0,
        "endpoint": 0,
        "phase": "measured",
        "scheduled_ns": due_ns,
        "slot_free_ns": None,
        "sent_ns": due_ns + round(lag_ms * MS),
        "first_byte_ns": first_ns,
        "first_token_ns": first_ns,
        "first_answer_ns": first_ns,
        "last_token_ns": last_ns,
        "done_ns": last_ns + round(tail_ms * MS),
        "prompt_tokens_asked": 16,
        "prompt_tokens": 16,
        "cached_tokens": None,
        "output_tokens_asked": gaps + 1,
        "output_tokens": gaps + 1,
        "output_chunks": gaps + 1,
        "output_tokenized": None,
        "reasoning_tokens": None,
        "chunk_tokens_source": "chunks",
        "finish_reason": "length",
        "outcome": "ok",
        "error": "",
        "http_status": 200,
        "reused": True,
        "reconnected": False,
        "gap_us": np.concatenate([*gap_us, np.empty(0, np.float32)]),
        "gap_offsets": offsets_of(gaps),
        "chunk_tokens": np.ones(int((gaps + 1).sum()), np.float32),
        "chunk_offsets": offsets_of(gaps + 1),
        **changes,
    }
    return RequestColumns(**{name: _column(values[name], name, count) for name in FIELD_TYPES})


def _column(value, name, count):
    if name in {*RAGGED, *RAGGED.values()}:
        return value
    kind = {"Ints": np.int64, "Texts": object, "Flags": bool}[FIELD_TYPES[name]]
    if isinstance(value, (list, np.ndarray)):
        value = [NULL if one is None and kind is np.int64 else one for one in value]
        column = np.empty(count, dtype=kind)
        column[:] = value
        return column
    return np.full(count, NULL if value is None and kind is np.int64 else value, dtype=kind)


def unsent(columns: RequestColumns, which, outcome="not_sent") -> RequestColumns:
    """The same requests with some of them never answered (nor, if not sent, sent)."""
    values = {field.name: getattr(columns, field.name).copy() for field in fields(columns)}
    values["outcome"][which] = outcome
    for name in ("first_token_ns", "first_answer_ns", "last_token_ns", "first_byte_ns"):
        values[name][which] = NULL
    if outcome == "not_sent":
        values["sent_ns"][which] = NULL
        values["done_ns"][which] = NULL
    for name in ("output_tokens", "prompt_tokens"):
        values[name][which] = NULL
    values["output_chunks"][which] = 0
    silent = np.zeros(len(columns), dtype=bool)
    silent[which] = True
    for name, offsets_name in RAGGED.items():
        counts = np.diff(values[offsets_name])
        values[name] = values[name][np.repeat(~silent, counts)]
        values[offsets_name] = offsets_of(np.where(silent, 0, counts))
    return RequestColumns(**values)


@pytest.fixture(scope="session")
def cell_of() -> CellOf:
    """Builds successful measured requests from their due times."""
    return build_cell


@pytest.fixture(scope="session")
def without_answers() -> CellOf:
    """Takes the answers of some requests away."""
    return unsent


@pytest.fixture(scope="session")
def concluded_run(tmp_path_factory):
    """The directory of a concluded run by its kind (tests.reports.runs.KINDS), made once."""

    @cache
    def run(kind: str):
        from tests.reports.runs import concluded

        return concluded(tmp_path_factory.mktemp("run"), kind)

    return run


@pytest.fixture(scope="session")
def report_of_kind(concluded_run):
    """The report's values of a concluded run by its kind."""

    @cache
    def report(kind: str):
        from reports.render import report_of

        return report_of(concluded_run(kind))

    return report


@pytest.fixture(scope="session")
def page_of_kind(report_of_kind):
    """The pages of a concluded run by its kind: texts by file name."""

    @cache
    def page(kind: str):
        from reports.pages import pages

        return pages(report_of_kind(kind))

    return page
