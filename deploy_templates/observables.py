"""What is read of a serving engine, whatever the engine calls it.

A runtime's ``runtime.yaml`` maps these names to the series of each release; a name that a
release's map lacks is not offered by that release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["gauge", "counter", "amount", "histogram", "summary"]
Fold = Literal["sum", "max", "mean"]

_COUNTING: Final[tuple[Kind, ...]] = ("counter", "amount")
_SPREAD: Final[tuple[Kind, ...]] = ("histogram", "summary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observable:
    """A quantity that engines report: its unit, the kinds of series, what it says.

    ``fold`` is how the values of several engines or ranks on one page become one.
    """

    unit: str
    kinds: tuple[Kind, ...]
    says: str
    fold: Fold = "sum"


def _gauge(unit: str, says: str, fold: Fold = "sum") -> Observable:
    return Observable(unit=unit, kinds=("gauge",), says=says, fold=fold)


def _count(unit: str, says: str) -> Observable:
    return Observable(unit=unit, kinds=_COUNTING, says=says)


def _times(says: str) -> Observable:
    return Observable(unit="s", kinds=_SPREAD, says=says)


OBSERVABLES: Final[Mapping[str, Observable]] = {
    "running": _gauge("requests", "requests that are computed"),
    "waiting": _gauge("requests", "requests that wait for a place in the batch"),
    "swapped": _gauge("requests", "preempted requests whose KV cache lies in host memory"),
    "in_server": _gauge("requests", "requests, where running and waiting are not told apart"),
    "queue_time": _times("how long a request waited before it was first computed"),
    "queue_seconds": _count("s", "the sum of these waits"),
    "queue_time_mean": _gauge("s", "the engine's own mean of recent waits", "mean"),
    "requests_started": _count("requests", "requests that left the queue"),
    "requests_finished": _count("requests", "requests that ended"),
    "kv_use": _gauge(
        "1", "share of the KV cache in use; of several engines the fullest", "max"
    ),
    "kv_used_blocks": _gauge("blocks", "blocks of the KV cache in use"),
    "kv_blocks": _gauge("blocks", "blocks of the KV cache"),
    "preemptions": _count("preemptions", "running requests that had to give up their KV cache"),
    "prefix_queries": _count("tokens", "prompt tokens looked up in the prefix cache"),
    "prefix_hits": _count("tokens", "prompt tokens found in the prefix cache"),
    "prefix_hit_rate": _gauge("1", "the engine's own hit rate, over a span it chooses", "mean"),
    "prompt_tokens": _count("tokens", "prompt tokens, those from the prefix cache among them"),
    "computed_tokens": _count("tokens", "prompt tokens that were computed"),
    "cached_tokens": _count("tokens", "prompt tokens taken from the prefix cache"),
    "generation_tokens": _count("tokens", "output tokens"),
    "prompt_seconds": _count("s", "time spent on prompts"),
    "generation_seconds": _count("s", "time spent on output"),
    "draft_tokens": _count("tokens", "tokens that the draft proposed"),
    "accepted_tokens": _count("tokens", "proposed tokens that were kept"),
    "ttft": _times("time to first token, as the server sees it"),
    "itl": _times("time between tokens, as the server sees it"),
    "tpot": _times("mean time per token of a request after the first"),
    "e2e": _times("time from a request's arrival to its last token"),
}

ANSWERED: Final[Mapping[str, str]] = {
    "queue_time": "how long this request waited before it was first computed",
    "prompt_time": "how long this request's prompt took, once it had begun",
}
"""What an engine may say of a single request in its answer, in seconds."""
