"""One request's answer, streamed or whole: from tokens of its sequences to its last byte."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from flows.rehearsal.api import Generation, error_body
from flows.rehearsal.connection import Connection
from flows.rehearsal.dialects import ChoiceText, Envelope, Events, Part, Usage, whole_body
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
        self.body.flush(self.order.connection.close)

    def reset(self) -> None:
        """Break the connection after what was written."""
        self._over("reset")
        self.body.flush(self.order.connection.reset)

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

    def _over(self, outcome: str) -> None:
        self._is_over = True
        record = self.order.record
        record.outcome = outcome
        record.ended_ns = time.monotonic_ns()
        record.output_tokens = sum(choice.emitted for choice in self.choices)
        record.cached_tokens = sum(c.sequence.cached_tokens for c in self.choices)
        record.preemptions = sum(c.sequence.preemptions for c in self.choices)
        for choice in self.choices:
            self.order.abort(choice.sequence)

    def _client_gone(self) -> None:
        if not self._is_over:
            self._over("client gone")


class StreamedAnswer(Answer):
    """Server-sent events, one chunk of tokens after another."""

    def __init__(self, order: Order, choices: list[Choice]) -> None:
        super().__init__(order, choices)
        shape = order.shape
        self._events = Events(order.envelope, shape)
        self._chunks = 0
        self._held: list[bytes] | None = None
        self._keep_alive: asyncio.TimerHandle | None = None
        self._failure = order.failure
        self._cut = order.failure.at_token if order.failure else None
        self._continuous = shape.usage == "continuous" or (
            order.generation.continuous_usage and shape.usage != "never"
        )
        self.body = Body(
            order.connection, order.loop, order.wire, order.wire.stream_body, self.wrote
        )
        if shape.headers_at == "arrival" or self._cut == 0 or shape.keep_alive_s:
            self._start()
        if shape.first_chunk_at == "arrival":
            self._open()
        if shape.keep_alive_s:
            self._ping()

    def on_tokens(self, choice: Choice, tokens: int) -> None:
        """Send a chunk once enough tokens for one are there."""
        if self._is_over:
            return
        choice.pending += tokens
        ended = choice.sequence.is_complete
        shape = self.order.shape
        wanted = shape.tokens_per_chunk
        if not choice.emitted:
            wanted = shape.first_chunk_tokens or wanted
        if choice.pending < wanted and not ended:
            return
        if not choice.emitted:
            self._before_first_token(choice)
        self._send_pending(choice, ended)
        if ended and not self._is_over:
            self._choice_ended(choice)

    def _send_pending(self, choice: Choice, ended: bool) -> None:
        while choice.pending:
            count = choice.pending
            if choice.emitted < self.thinking:
                count = min(count, self.thinking - choice.emitted)
            if self._cut is not None:
                count = min(count, self._cut - choice.emitted)
            if count > 0:
                choice.pending -= count
                self._send_tokens(choice, count, ended and not choice.pending)
            if self._cut is not None and choice.emitted >= self._cut:
                self._fail()
                if self._is_over:
                    return

    def _send_tokens(self, choice: Choice, count: int, is_last: bool) -> None:
        text = choice.words.piece(choice.emitted, count)
        shape = self.order.shape
        part: Part = "answer"
        if choice.emitted < self.thinking:
            part = "reasoning"
        elif shape.tool_call and self.order.generation.kind == "chat":
            part = "tool"
            text = self._arguments(choice, text, is_last)
        choice.emitted += count
        reason = None
        if is_last and shape.finish_chunk == "last_token":
            reason = self.reason(choice)
        usage = self.usage() if self._continuous else None
        if reason and usage is None:
            usage = self._usage_with_reason()
        self._write(self._events.text(choice.index, part, text, reason, usage), count)
        self._after_chunk(choice)

    def _arguments(self, choice: Choice, text: bytes, is_last: bool) -> bytes:
        """Return a piece of the JSON that a tool call's arguments are."""
        if choice.emitted == self.thinking:
            self._write(self._events.tool_name(choice.index), 0)
            text = b'{\\"query\\":\\"' + text
        return text + b'\\"}' if is_last else text

    def _after_chunk(self, choice: Choice) -> None:
        shape = self.order.shape
        self._chunks += 1
        if shape.empty_chunk_every and self._chunks % shape.empty_chunk_every == 0:
            self._write(self._events.empty(choice.index), 0)
        if shape.comment_every and self._chunks % shape.comment_every == 0:
            self._write(self._events.comment(), 0)

    def _choice_ended(self, choice: Choice) -> None:
        choice.is_ended = True
        reason = self.reason(choice)
        if reason and self.order.shape.finish_chunk == "separate":
            usage = self.usage() if self._continuous else self._usage_with_reason()
            self._write(self._events.finish(choice.index, reason, usage), 0)
        if not all(other.is_ended for other in self.choices):
            return
        wants = self.order.generation.include_usage
        if self.order.shape.usage == "always" or (
            wants and self.order.shape.usage in ("asked", "continuous")
        ):
            self._write(self._events.usage(self.usage()), 0)
        if self.order.shape.done:
            self._write(self._events.done(), 0)
        self._finish("ok")

    def _usage_with_reason(self) -> Usage | None:
        return self.usage() if self.order.shape.usage == "last_choice" else None

    def _before_first_token(self, choice: Choice) -> None:
        if not self.body.is_started:
            self._start()
        if self._keep_alive is not None:
            self._keep_alive.cancel()
        if self.order.shape.first_chunk_at == "first_token":
            self._open_choice(choice)

    def _start(self) -> None:
        self.order.record.status = 200
        headers = self.order.headers + "content-type: text/event-stream; charset=utf-8\r\n"
        self.body.start("200 OK", headers + "cache-control: no-cache\r\n")

    def _open(self) -> None:
        if not self.body.is_started:
            self._start()
        for choice in self.choices:
            self._open_choice(choice)

    def _open_choice(self, choice: Choice) -> None:
        shape = self.order.shape
        is_chat = self.order.generation.kind == "chat"
        if shape.role_chunk if is_chat else shape.empty_first_chunk:
            self._write(self._events.role(choice.index), 0)

    def _ping(self) -> None:
        interval_s = self.order.shape.keep_alive_s
        if not self._is_over and interval_s:
            if self._keep_alive is not None:
                self._write(self._events.comment(), 0)
            self._keep_alive = self.order.loop.call_later(interval_s, self._ping)

    def _write(self, event: bytes, tokens: int) -> None:
        self.order.record.write_tokens.append(tokens)
        if self._held is not None:
            self._held.append(event)
        else:
            self.body.write(event)

    def _fail(self) -> None:
        failure, self._failure, self._cut = self._failure, None, None
        if failure is None:
            return
        if failure.kind == "reset":
            self.reset()
        elif failure.kind == "close":
            self.close("closed")
        elif failure.kind == "hang":
            self.hang()
        elif failure.kind == "pause":
            self._held = []
            self.order.loop.call_later(failure.for_ms / 1e3, self._resume)
        elif failure.kind == "garbage":
            self._write(self._events.garbage(), 0)
        elif failure.kind == "truncate":
            self.end("truncated")
        elif failure.kind == "error":
            self._fail_in_band(failure)

    def _fail_in_band(self, failure: Failure) -> None:
        body = error_body(failure.status, failure.message, code=str(failure.status))
        self._write(self._events.error(body, as_event=failure.as_event), 0)
        if failure.done_after:
            self._write(self._events.done(), 0)
        self.end("error")

    def _finish(self, outcome: str) -> None:
        if self._held is None:
            self.end(outcome)

    def _resume(self) -> None:
        held, self._held = self._held or [], None
        if self._is_over:
            return
        for event in held:
            self.body.write(event)
        if all(choice.is_ended for choice in self.choices):
            self.end("ok")

    def _over(self, outcome: str) -> None:
        super()._over(outcome)
        if self._keep_alive is not None:
            self._keep_alive.cancel()


class WholeAnswer(Answer):
    """One JSON body when all tokens are there."""

    def __init__(self, order: Order, choices: list[Choice]) -> None:
        super().__init__(order, choices)
        self.body = Body(
            order.connection, order.loop, order.wire, order.wire.whole_body, self.wrote
        )

    def on_tokens(self, choice: Choice, tokens: int) -> None:
        """Count tokens; answer after the last one."""
        if self._is_over:
            return
        choice.emitted += tokens
        failure = self.order.failure
        if failure is not None and self._fails_now(failure, choice):
            self._fail(failure)
            return
        choice.is_ended = choice.sequence.is_complete
        if all(other.is_ended for other in self.choices):
            self._answer(failure)

    def _fails_now(self, failure: Failure, choice: Choice) -> bool:
        breaks = failure.kind in ("reset", "close", "hang")
        return breaks and choice.emitted >= (failure.at_token or 0)

    def _fail(self, failure: Failure) -> None:
        if failure.kind == "reset":
            self.reset()
        elif failure.kind == "close":
            self.close("closed")
        else:
            self.hang()

    def _answer(self, failure: Failure | None) -> None:
        shape = self.order.shape
        usage = None if shape.usage == "never" else self.usage()
        content = whole_body(
            self.order.envelope,
            [self._text(choice) for choice in self.choices],
            usage,
            shape.reasoning_field,
        )
        status, outcome = HTTPStatus.OK, "ok"
        if failure is not None and failure.kind == "error":
            status, outcome = HTTPStatus(failure.status), "error"
            content = error_body(failure.status, failure.message)
        elif failure is not None and failure.kind in ("garbage", "truncate"):
            content, outcome = content[: len(content) // 2], failure.kind
        self._send(status, content, outcome)

    def _send(self, status: HTTPStatus, content: bytes, outcome: str) -> None:
        record = self.order.record
        record.status = status
        record.write_tokens.append(sum(choice.emitted for choice in self.choices))
        headers = self.order.headers + "content-type: application/json\r\n"
        self.body.start(f"{status.value} {status.phrase}", headers)
        self.body.write(content)
        self.end(outcome)

    def _text(self, choice: Choice) -> ChoiceText:
        thought = min(self.thinking, choice.emitted)
        rest = choice.words.piece(thought, choice.emitted - thought)
        calls = self.order.shape.tool_call and self.order.generation.kind == "chat"
        return ChoiceText(
            answer=b"" if calls else rest,
            reasoning=choice.words.piece(0, thought),
            tool=b'{\\"query\\":\\"' + rest + b'\\"}' if calls else b"",
            reason=self.reason(choice),
        )
