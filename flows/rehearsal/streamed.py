"""An answer as server-sent events, with every way in which such a stream goes wrong."""

from __future__ import annotations

import asyncio

from flows.rehearsal.answer import Answer, Choice, Order
from flows.rehearsal.api import error_body
from flows.rehearsal.dialects import Events, Part, Usage
from flows.rehearsal.rules import Failure
from flows.rehearsal.wire import Body


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
