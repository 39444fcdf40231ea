"""From request records to what the step-time model is fitted to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from catalog.predict import Seen
from reports.columns import NULL, Flags, RequestColumns, known, offsets_of


def seen_of(columns: RequestColumns) -> tuple[Seen, ...]:
    """The requests of a cell that came through, warm-up and all, by endpoint.

    Every request weighs on an engine, so none is left out but those that gave no output.
    """
    return tuple(_by_endpoint(columns))


def _by_endpoint(columns: RequestColumns) -> Iterator[Seen]:
    came: Flags = (
        (columns.outcome == "ok")
        & (columns.first_token_ns != NULL)
        & (columns.sent_ns != NULL)
        & (columns.prompt_tokens != NULL)
        & (np.diff(columns.chunk_offsets) > 0)
    )
    for endpoint in np.unique(columns.endpoint[came]):
        yield _seen(columns.where(came & (columns.endpoint == endpoint)))


def _seen(columns: RequestColumns) -> Seen:
    chunks = np.diff(columns.chunk_offsets)
    gaps = np.diff(columns.gap_offsets)
    zero_ns = int(columns.sent_ns.min())
    since_s = np.zeros(int(chunks.sum()))
    offsets = offsets_of(chunks)
    follows = np.ones(len(since_s), dtype=bool)
    follows[offsets[:-1]] = False
    if int(gaps.sum()) == int(follows.sum()):
        since_s[follows] = columns.gap_us.astype(np.float64) / 1e6
    total = np.cumsum(since_s)
    first_s = (columns.first_token_ns - zero_ns) / 1e9
    times = total + np.repeat(first_s - total[offsets[:-1]], chunks)
    tokens = columns.chunk_tokens.astype(np.float64)
    return Seen(
        sent_s=(columns.sent_ns - zero_ns) / 1e9,
        prompts=known(columns.prompt_tokens),
        times_s=times,
        tokens=np.where(np.isfinite(tokens) & (tokens > 0), tokens, 1.0),
        offsets=offsets,
    )
