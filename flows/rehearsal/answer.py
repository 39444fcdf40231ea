"""What streamed and whole answers share: their order, their choices and their end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from flows.rehearsal.api import Generation
from flows.rehearsal.connection import Connection
from flows.rehearsal.dialects import Envelope, Usage
from flows.rehearsal.rules import Failure
from flows.rehearsal.scheduler import Sequence
from flows.rehearsal.streamshape import StreamShape, WireShape
from flows.rehearsal.truth import TrueRequest
from flows.rehearsal.wire import Body
from flows.rehearsal.words import Words


@dataclass(slots=True, kw_only=True)
class Choice:
    """One stream of tokens within an answer."""

    index: int
    sequence: Sequence
    words: Words
    pending: int = 0
    emitted: int = 0
    is_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """All that an answer is made from; `done` is called once with the outcome."""

    loop: asyncio.AbstractEventLoop
    connection: Connection
    generation: Generation
    envelope: Envelope
    shape: StreamShape
    wire: WireShape
    failure: Failure | None
    headers: str
    closes: bool
    record: TrueRequest
    abort: Callable[[Sequence], None]
    abandon: Callable[[Sequence], None]
    reports_cache: bool


class Answer:
    """What streamed and whole answers share: failures, usage and the end."""

    def __init__(self, order: Order, choices: list[Choice]) -> None:
        self.order = order
        self.choices = choices
        self.body: Body
        self._is_over = False
        order.connection.on_lost = self._client_gone
        for choice in choices:
            choice.sequence.sink = self._sink(choice)

    def _sink(self, choice: Choice) -> Callable[[int], None]:
        return lambda tokens: self.on_tokens(choice, tokens)

    def on_tokens(self, choice: Choice, tokens: int) -> None:
        """Take new tokens of a choice."""
        raise NotImplementedError

    def wrote(self, at_ns: int) -> None:
        """Note the time of a write."""
        self.order.record.write_ns.append(at_ns)

    def close(self, outcome: str) -> None:
        """Close the connection after what was written, without an end of the body."""
        self._over(outcome)
        self._break(self.order.connection.close)

    def reset(self) -> None:
        """Break the connection after what was written."""
        self._over("reset")
        self._break(self.order.connection.reset)

    def hang(self) -> None:
        """Send nothing more and keep the connection."""
        self._over("hang")

    def end(self, outcome: str) -> None:
        """End the body as framed and free the connection."""
        self._over(outcome)
        order = self.order
        closes = order.closes or self.body.framing == "close"
        self.body.end(lambda: order.connection.finished(close=closes))
        order.record.ended_ns = time.monotonic_ns()

    def usage(self) -> Usage:
        """Token counts as this answer reports them, wrong by what the shape asks."""
        order, shape = self.order, self.order.shape
        emitted = sum(choice.emitted for choice in self.choices)
        thought = sum(min(choice.emitted, self.thinking) for choice in self.choices)
        cached = sum(choice.sequence.cached_tokens for choice in self.choices)
        return Usage(
            prompt=sum(choice.sequence.prompt_tokens for choice in self.choices),
            completion=max(0, emitted + shape.usage_error_tokens),
            cached=cached if order.reports_cache else None,
            reasoning=thought if self.thinking else None,
        )

    @property
    def thinking(self) -> int:
        """Reasoning tokens at the start of each choice."""
        is_chat = self.order.generation.kind == "chat"
        return self.order.shape.reasoning_tokens if is_chat else 0

    def reason(self, choice: Choice) -> str | None:
        """Finish reason of a choice as this answer states it."""
        if not self.order.shape.finish_reason:
            return None
        calls = self.order.shape.tool_call and self.order.generation.kind == "chat"
        return "tool_calls" if calls else choice.sequence.finish_reason

    def _break(self, action: Callable[[], None]) -> None:
        self.body.flush(lambda: self.order.connection.in_order(action))

    def _over(self, outcome: str) -> None:
        self._is_over = True
        self.order.connection.on_lost = None
        record = self.order.record
        record.outcome = outcome
        record.ended_ns = time.monotonic_ns()
        record.output_tokens = sum(choice.emitted for choice in self.choices)
        record.cached_tokens = sum(c.sequence.cached_tokens for c in self.choices)
        record.preemptions = sum(c.sequence.preemptions for c in self.choices)
        drop = self.order.abandon if outcome == "client gone" else self.order.abort
        for choice in self.choices:
            choice.sequence.sink = None
            drop(choice.sequence)

    def _client_gone(self) -> None:
        if not self._is_over:
            self._over("client gone")
