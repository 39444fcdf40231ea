"""An answer as one JSON body, when all its tokens are there."""

from __future__ import annotations

from http import HTTPStatus

from flows.rehearsal.answer import Answer, Choice, Order
from flows.rehearsal.api import error_body
from flows.rehearsal.dialects import ChoiceText, whole_body
from flows.rehearsal.rules import Failure
from flows.rehearsal.wire import Body


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
        if failure is not None and failure.kind == "pause":
            self.order.loop.call_later(failure.for_ms / 1e3, self._answer_unless_over)
            return
        shape = self.order.shape
        usage = None if shape.usage == "never" else self.usage()
        content = whole_body(
            self.order.envelope,
            [self._text(choice) for choice in self.choices],
            usage,
            shape.reasoning_field,
        )
        if failure is None:
            self._send(HTTPStatus.OK, content, "ok")
        elif failure.kind == "error":
            body = error_body(failure.status, failure.message)
            self._send(HTTPStatus(failure.status), body, "error")
        elif failure.kind == "truncate":
            self._send_short(content)
        else:
            self._send(HTTPStatus.OK, content[: len(content) // 2], failure.kind)

    def _answer_unless_over(self) -> None:
        if not self._is_over:
            self._answer(None)

    def _send(self, status: HTTPStatus, content: bytes, outcome: str) -> None:
        record = self.order.record
        record.status = status
        record.write_tokens.append(sum(choice.emitted for choice in self.choices))
        headers = self.order.headers + "content-type: application/json\r\n"
        self.body.start(f"{status.value} {status.phrase}", headers)
        self.body.write(content)
        self.end(outcome)

    def _send_short(self, content: bytes) -> None:
        """Send half of a body whose whole length the headers state, and close."""
        self.order.record.status = HTTPStatus.OK
        head = f"HTTP/1.1 200 OK\r\n{self.order.headers}content-type: application/json\r\n"
        length = f"content-length: {len(content)}\r\n\r\n"
        self.order.connection.send((head + length).encode("latin-1"))
        self.order.connection.send(content[: len(content) // 2])
        self.close("truncated")

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
