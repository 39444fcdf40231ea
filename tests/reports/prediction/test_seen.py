"""Records become what the model is fitted to, whatever became of single requests."""

from __future__ import annotations

import numpy as np

from reports.columns import columns_of
from reports.prediction import seen_of

MS = 1_000_000


def columns(**changes):
    lists = {
        "sequence": [0, 1, 2],
        "prompt": [0, 1, 2],
        "session": [None] * 3,
        "turn": [None] * 3,
        "endpoint": [0, 1, 0],
        "phase": ["warmup", "measured", "measured"],
        "scheduled_ns": [0, 5 * MS, 9 * MS],
        "slot_free_ns": [None] * 3,
        "sent_ns": [0, 5 * MS, 9 * MS],
        "first_byte_ns": [0, 5 * MS, None],
        "first_token_ns": [10 * MS, 30 * MS, None],
        "first_answer_ns": [10 * MS, 30 * MS, None],
        "last_token_ns": [18 * MS, 30 * MS, None],
        "done_ns": [18 * MS, 30 * MS, 20 * MS],
        "prompt_tokens_asked": [16] * 3,
        "prompt_tokens": [16, 17, None],
        "cached_tokens": [None] * 3,
        "output_tokens_asked": [4] * 3,
        "output_tokens": [4, 1, None],
        "output_chunks": [3, 1, 0],
        "output_tokenized": [None] * 3,
        "reasoning_tokens": [None] * 3,
        "chunk_tokens_source": ["usage", "usage", None],
        "finish_reason": ["length", "length", None],
        "outcome": ["ok", "ok", "failed"],
        "error": [None, None, "reset"],
        "http_status": [200, 200, None],
        "reused": [False] * 3,
        "reconnected": [False] * 3,
        "gap_us": [4000.0, 4000.0],
        "gap_offsets": [0, 2, 2, 2],
        "chunk_tokens": [1.0, 1.0, 2.0, 1.0],
        "chunk_offsets": [0, 3, 4, 4],
    }
    return columns_of(
        {**lists, **changes}, run="r", cell="c", replication=0, launch="l", shard=0
    )


def test_chunks_stand_at_their_times_with_their_tokens_for_each_endpoint_apart() -> None:
    first, second = seen_of(columns())

    assert np.allclose(first.times_s, [0.010, 0.014, 0.018])
    assert first.tokens.tolist() == [1, 1, 2]
    assert first.offsets.tolist() == [0, 3]
    assert (first.sent_s.tolist(), first.prompts.tolist()) == ([0.0], [16.0])
    assert np.allclose(second.times_s, [0.025])


def test_a_cell_in_which_nothing_came_through_gives_nothing() -> None:
    assert seen_of(columns(outcome=["failed"] * 3)) == ()
