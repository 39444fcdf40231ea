"""Rules: which requests fail or answer in another shape, and how."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flows.rehearsal.checked import SettingsError, bounded, check

FailureKind = Literal[
    "status", "reset", "close", "hang", "error", "garbage", "truncate", "stop", "pause"
]
NEEDS_ANSWER = ("error", "garbage", "truncate", "stop", "pause")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What happens to a request, and after how many of its tokens.

    `at_token` null: instead of any byte; 0: after the headers; n: after n tokens.

    status: an HTTP error instead of an answer. reset: RST. close: FIN in mid-answer.
    hang: nothing more is sent. error: an error object inside the stream. garbage: an event
    that is not JSON. truncate: a clean end without finish reason, usage and [DONE].
    stop: an end of sequence. pause: this answer is held back for `for_ms`.
    """

    kind: FailureKind
    at_token: int | None = bounded(None, low=0)
    status: int = bounded(503, low=400, high=599)
    body: Literal["json", "html", "empty"] = "json"
    retry_after_s: int | None = bounded(None, low=0)
    message: str = "rehearsed failure"
    as_event: bool = False  # error: with an `event: error` line
    done_after: bool = True  # error: [DONE] follows
    for_ms: float = bounded(0.0, low=0)

    def __post_init__(self) -> None:
        check(self)
        if self.kind == "status" and self.at_token is not None:
            raise SettingsError("at_token does not go with kind 'status': use 'error'")
        if self.kind in NEEDS_ANSWER and self.at_token is None:
            raise SettingsError(f"at_token is null: kind {self.kind!r} needs a number")
        if self.kind == "stop" and not self.at_token:
            raise SettingsError("at_token is 0: kind 'stop' needs at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A failure or a change of stream shape for requests that meet all conditions.

    Requests are numbered from 0 in the order of their arrival; conditions left out hold.
    """

    requests: tuple[int, ...] = ()
    first: int | None = bounded(None, low=0)  # the first n requests
    after: int = bounded(0, low=0)  # not the first n
    every: int = bounded(1, low=1)  # every n-th: n-1, 2n-1, …
    probability: float = bounded(1.0, low=0, high=1)
    reused_only: bool = False  # only on a connection that carried a request before
    failure: Failure | None = None
    stream: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self)
        if self.failure is None and not self.stream:
            raise SettingsError("failure and stream are both absent: the rule does nothing")

    def covers(self, number: int, *, reused: bool, seed: str) -> bool:
        """Whether request `number` meets all conditions; chance comes from the seed alone."""
        return (
            (not self.requests or number in self.requests)
            and (self.first is None or number < self.first)
            and number >= self.after
            and number % self.every == self.every - 1
            and (reused or not self.reused_only)
            and (
                self.probability >= 1
                or random.Random(f"{seed}/{number}").random() < self.probability  # noqa: S311
            )
        )
