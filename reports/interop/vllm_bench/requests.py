"""The requests of a result file as the fields of our records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reports.interop.vllm_bench.load import Load

Reals = NDArray[np.float64]
_NS: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """The file's arrays, one value per request, in seconds; None where it has none."""

    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    start_s: Reals
    ttft_s: Reals
    latency_s: Reals | None
    queue_s: Reals | None
    gaps_s: tuple[Reals, ...]
    errors: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ttft_s)

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        """Whether the tool counts the request among its successes: without an error."""
        answered: NDArray[np.bool_] = np.array([not error for error in self.errors], dtype=bool)
        return answered

    @property
    def answered(self) -> int:
        """How many requests the tool counts as completed."""
        return int(self.is_answered.sum())

    @property
    def is_ok(self) -> NDArray[np.bool_]:
        """Whether an answer came: output tokens, and a time of the first one."""
        return self.is_answered & (self.ttft_s > 0)

    @property
    def is_estimated(self) -> NDArray[np.bool_]:
        """Whether some chunk of an answer held several tokens, nobody knows which."""
        chunks = np.array([len(gaps) + 1 for gaps in self.gaps_s])
        several: NDArray[np.bool_] = self.is_ok & (chunks != self.output_tokens)
        return several


def lists_of(requests: Requests, load: Load, *, is_service_only: bool) -> dict[str, list[Any]]:
    """The fields of ``RequestColumns`` but for those that say which run it is."""
    lists: dict[str, list[Any]] = {
        name: [None] * len(requests) for name in (*_UNKNOWN, *_OF_AN_ANSWER)
    }
    sent = _sent_ns(requests)
    for index, at in enumerate(sent):
        found = (
            _answer(requests, index, at)
            if requests.is_ok[index]
            else _failure(requests, index, at)
        )
        for name, value in found.items():
            lists[name][index] = value
    gaps = [g if ok else g[:0] for g, ok in zip(requests.gaps_s, requests.is_ok, strict=True)]
    chunks = [_chunk_tokens(requests, index) for index in range(len(requests))]
    return {
        **lists,
        "sequence": list(range(len(requests))),
        "prompt": list(range(len(requests))),
        "endpoint": [0] * len(requests),
        "turn": [0] * len(requests),
        "phase": _phases(sent, load),
        "scheduled_ns": _scheduled_ns(requests, sent, load, is_service_only=is_service_only),
        # the wait for a place ends with the send: the client's own delay is not told apart
        "slot_free_ns": [*sent] if load.cap is not None else [None] * len(sent),
        "sent_ns": list(sent),
        "prompt_tokens_asked": requests.prompt_tokens.tolist(),
        "outcome": ["ok" if ok else "failed_in_band" for ok in requests.is_ok],
        "error": [
            None if ok else error or "no output tokens"
            for ok, error in zip(requests.is_ok, requests.errors, strict=True)
        ],
        "reused": [False] * len(requests),
        "reconnected": [False] * len(requests),
        "gap_us": [gap * 1e6 for each in gaps for gap in each],
        "gap_offsets": _offsets([len(each) for each in gaps]),
        "chunk_tokens": [tokens for each in chunks for tokens in each],
        "chunk_offsets": _offsets([len(each) for each in chunks]),
    }


_UNKNOWN: Final = (
    "session", "first_byte_ns", "first_answer_ns", "prompt_tokens",
    "cached_tokens", "output_tokens_asked", "output_tokenized", "reasoning_tokens",
    "finish_reason", "http_status",
)  # fmt: skip
_OF_AN_ANSWER: Final = (
    "first_token_ns", "last_token_ns", "done_ns", "output_tokens", "output_chunks",
    "chunk_tokens_source",
)  # fmt: skip


def _answer(requests: Requests, index: int, sent_ns: int) -> dict[str, Any]:
    """The fields of one answer; ``latencies`` end with the last token that came."""
    gaps = requests.gaps_s[index]
    first = sent_ns + _ns(requests.ttft_s[index])
    last = first + _ns(float(gaps.sum()))
    done = last
    if requests.latency_s is not None:
        done = max(last, sent_ns + _ns(requests.latency_s[index]))
    return {
        "first_token_ns": first,
        "last_token_ns": last,
        "done_ns": done,
        "output_tokens": int(requests.output_tokens[index]),
        "output_chunks": len(gaps) + 1,
        "chunk_tokens_source": "estimate" if requests.is_estimated[index] else "usage",
    }


def _failure(requests: Requests, index: int, sent_ns: int) -> dict[str, Any]:
    """When one that failed ended, as far as the file says: at the earliest when it was sent."""
    latency_s = 0.0 if requests.latency_s is None else float(requests.latency_s[index])
    return {"done_ns": sent_ns + _ns(latency_s)}


def _chunk_tokens(requests: Requests, index: int) -> list[float]:
    if not requests.is_ok[index]:
        return []
    chunks = len(requests.gaps_s[index]) + 1
    return [float(requests.output_tokens[index]) / chunks] * chunks


def _sent_ns(requests: Requests) -> list[int]:
    """When each was sent; one that failed before that takes the time of the one before it."""
    found, last = [], float(requests.start_s[requests.start_s > 0].min(initial=np.inf))
    for at in requests.start_s:
        last = float(at) if at > 0 else last
        found.append(_ns(last))
    return found


def _scheduled_ns(
    requests: Requests, sent: list[int], load: Load, *, is_service_only: bool
) -> list[int | None]:
    """A closed loop's request is due when its stream is free: when it is sent."""
    if is_service_only:
        return [None] * len(sent)
    if load.process == "closed" or requests.queue_s is None:
        return [*sent]
    return [
        at - _ns(max(0.0, float(queue)))
        for at, queue in zip(sent, requests.queue_s, strict=True)
    ]


def _phases(sent: list[int], load: Load) -> list[str]:
    """Of a closed loop the first wave is not timed, unless there is no other."""
    first = load.streams or 0
    if load.process != "closed" or first >= len(sent):
        return ["measured"] * len(sent)
    wave = set(sorted(range(len(sent)), key=lambda index: (sent[index], index))[:first])
    return ["warmup" if index in wave else "measured" for index in range(len(sent))]


def _offsets(counts: list[int]) -> list[int]:
    offsets = [0]
    for count in counts:
        offsets.append(offsets[-1] + count)
    return offsets


def _ns(seconds: float) -> int:
    return round(seconds * _NS)
