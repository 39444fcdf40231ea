"""Knobs for what an answer looks like: its events, and the bytes that carry them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flows.rehearsal.checked import bounded, check


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamShape:
    """Shape of a streamed answer's events. The defaults are a well-behaved server's."""

    tokens_per_chunk: int = bounded(1, low=1)
    first_chunk_tokens: int = bounded(0, low=0)  # 0: as the others
    headers_at: Literal["arrival", "first_token"] = "arrival"
    role_chunk: bool = True  # chat: a first chunk with the role and no text
    empty_first_chunk: bool = False  # completions: a first chunk with an empty text
    first_chunk_at: Literal["arrival", "first_token"] = "first_token"
    role_content: Literal["empty", "null", "absent"] = "empty"
    empty_chunk_every: int = bounded(0, low=0)  # n: a chunk without text after n with
    reasoning_tokens: int = bounded(0, low=0)
    reasoning_field: Literal["reasoning_content", "reasoning", "both"] = "reasoning_content"
    tool_call: bool = False
    text: Literal["ascii", "unicode", "escaped"] = "ascii"
    usage: Literal["asked", "always", "never", "continuous", "last_choice"] = "asked"
    usage_null: bool = False  # `usage: null` in the chunks before
    usage_error_tokens: int = 0
    finish_reason: bool = True
    finish_chunk: Literal["last_token", "separate"] = "last_token"
    done: bool = True
    line_end: Literal["lf", "crlf", "cr"] = "lf"
    space_after_colon: bool = True
    multiline_data: bool = False
    bare_end: bool = False  # the last event lacks the blank line after it
    event_fields: bool = False  # `event:` and `id:` lines beside the data
    comment_every: int = bounded(0, low=0)
    keep_alive_s: float | None = bounded(None, low=0.001)  # comments until the first token

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireShape:
    """How an answer's body is framed and cut into segments."""

    stream_body: Literal["chunked", "close", "length"] = "chunked"
    whole_body: Literal["length", "chunked", "close"] = "length"
    http_chunk_bytes: int = bounded(0, low=0)  # 0: one HTTP chunk per event
    split_bytes: int = bounded(0, low=0)  # 0: one segment per write
    split_pause_ms: float = bounded(0.0, low=0)
    bunch_ms: float = bounded(0.0, low=0)  # a proxy that flushes so often
    bunch_bytes: int = bounded(0, low=0)  # a proxy that flushes a full buffer

    def __post_init__(self) -> None:
        check(self)
