"""Answers as bytes: SSE events and whole JSON bodies in OpenAI's shapes, and near misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from flows.rehearsal.api import Kind
from flows.rehearsal.streamshape import StreamShape

Part = Literal["answer", "reasoning", "tool"]
LINE_ENDS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}
OBJECTS = {"completions": "text_completion", "chat": "chat.completion"}
FINGERPRINT = "rehearsal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server reports them."""

    prompt: int
    completion: int
    cached: int | None = None
    reasoning: int | None = None

    def json(self) -> bytes:
        """JSON object with OpenAI's keys."""
        counts: dict[str, Any] = {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }
        if self.cached is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": self.cached}
        if self.reasoning is not None:
            counts["completion_tokens_details"] = {"reasoning_tokens": self.reasoning}
        return orjson.dumps(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What all chunks of one answer share."""

    kind: Kind
    ident: str
    created: int
    model: str

    def json_head(self, *, chunk: bool) -> bytes:
        """JSON object, still open, up to and with the key of its choices."""
        name = OBJECTS[self.kind]
        if chunk and self.kind == "chat":
            name += ".chunk"
        fields = {
            "id": self.ident,
            "object": name,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
        }
        return orjson.dumps(fields)[:-1] + b',"choices":'


class Events:
    """SSE events of one answer. Each method returns the bytes of one event."""

    def __init__(self, envelope: Envelope, shape: StreamShape) -> None:
        self._kind = envelope.kind
        self._shape = shape
        self._line_end = LINE_ENDS[shape.line_end]
        self._data = b"data: " if shape.space_after_colon else b"data:"
        lead = self._data
        if shape.event_fields:
            lead = b"event: message" + self._line_end + b"id: 1" + self._line_end + lead
        head = envelope.json_head(chunk=True)
        if shape.multiline_data:
            head += self._line_end + self._data
        self._open = lead + head + b"["
        self._null_usage = b',"usage":null' if shape.usage_null else b""
        self._end = self._line_end * 2
        self._plain_close = b"]" + self._null_usage + b"}" + self._end
        self._cache: dict[tuple[int, Part], list[bytes]] = {}

    def text(
        self, index: int, part: Part, text: bytes, reason: str | None, usage: Usage | None
    ) -> bytes:
        """Event with new text in a choice."""
        if reason is None and usage is None:
            segments = self._cache.get((index, part))
            if segments is None:
                segments = self._segments(index, part, None)
                segments = [self._open + segments[0], *segments[1:]]
                segments[-1] += self._plain_close
                self._cache[index, part] = segments
            return text.join(segments)
        choice = text.join(self._segments(index, part, reason))
        return self._event(choice, usage)

    def role(self, index: int) -> bytes:
        """Event that opens a choice: the role for chat, an empty text for completions."""
        if self._kind == "completions":
            return self._event(_completion(index, b'""', None), None)
        content = {"empty": b',"content":""', "null": b',"content":null', "absent": b""}
        delta = b'{"role":"assistant"' + content[self._shape.role_content] + b"}"
        return self._event(_delta(index, delta, None), None)

    def tool_name(self, index: int) -> bytes:
        """Event that opens a tool call: its name, no arguments yet."""
        call = (
            b'{"tool_calls":[{"index":0,"id":"call_0","type":"function",'
            b'"function":{"name":"look_up","arguments":""}}]}'
        )
        return self._event(_delta(index, call, None), None)

    def empty(self, index: int) -> bytes:
        """Event without text between others: null for chat, empty for completions."""
        if self._kind == "completions":
            return self._event(_completion(index, b'""', None), None)
        return self._event(_delta(index, b'{"content":null}', None), None)

    def finish(self, index: int, reason: str, usage: Usage | None) -> bytes:
        """Event with a finish reason and no text."""
        if self._kind == "completions":
            return self._event(_completion(index, b'""', reason), usage)
        return self._event(_delta(index, b"{}", reason), usage)

    def usage(self, usage: Usage) -> bytes:
        """Event with usage and no choices."""
        return self._event(b"", usage)

    def error(self, body: bytes, *, as_event: bool) -> bytes:
        """Event with an error object in the middle of a stream."""
        name = b"event: error" + self._line_end if as_event else b""
        return name + self._data + body + self._end

    def garbage(self) -> bytes:
        """Event whose data is not JSON."""
        return self._data + b'{"id": "broken", "choices": [' + self._end

    def comment(self) -> bytes:
        """Comment line that keeps proxies awake."""
        return b": keep-alive" + self._end

    def done(self) -> bytes:
        """Event that ends a stream."""
        return self._data + b"[DONE]" + (b"" if self._shape.bare_end else self._end)

    def _event(self, choice: bytes, usage: Usage | None) -> bytes:
        reported = self._null_usage if usage is None else b',"usage":' + usage.json()
        return self._open + choice + b"]" + reported + b"}" + self._end

    def _segments(self, index: int, part: Part, reason: str | None) -> list[bytes]:
        """Return a choice cut where its text goes."""
        if self._kind == "completions":
            return _completion(index, b'"\0"', reason).split(b"\0")
        if part == "tool":
            delta = b'{"tool_calls":[{"index":0,"function":{"arguments":"\0"}}]}'
        elif part == "reasoning":
            names = {"both": ("reasoning_content", "reasoning")}
            field = self._shape.reasoning_field
            pairs = [b'"%b":"\0"' % name.encode() for name in names.get(field, (field,))]
            delta = b"{" + b",".join(pairs) + b"}"
        else:
            delta = b'{"content":"\0"}'
        return _delta(index, delta, reason).split(b"\0")


def _completion(index: int, text: bytes, reason: str | None) -> bytes:
    return b'{"index":%d,"text":%b,"logprobs":null,"finish_reason":%b}' % (
        index,
        text,
        orjson.dumps(reason),
    )


def _delta(index: int, delta: bytes, reason: str | None) -> bytes:
    return b'{"index":%d,"delta":%b,"logprobs":null,"finish_reason":%b}' % (
        index,
        delta,
        orjson.dumps(reason),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceText:
    """Whole text of one choice, as JSON string content, by part."""

    answer: bytes
    reasoning: bytes
    tool: bytes
    reason: str | None


def whole_body(
    envelope: Envelope, choices: list[ChoiceText], usage: Usage | None, field: str
) -> bytes:
    """JSON body of an answer that is not streamed."""
    made = [
        _whole_completion(i, c) if envelope.kind == "completions" else _message(i, c, field)
        for i, c in enumerate(choices)
    ]
    reported = b"" if usage is None else b',"usage":' + usage.json()
    return envelope.json_head(chunk=False) + b"[" + b",".join(made) + b"]" + reported + b"}"


def _whole_completion(index: int, choice: ChoiceText) -> bytes:
    return _completion(index, b'"' + choice.answer + b'"', choice.reason)


def _message(index: int, choice: ChoiceText, field: str) -> bytes:
    fields = [b'"role":"assistant"']
    if choice.reasoning:
        names = ("reasoning_content", "reasoning") if field == "both" else (field,)
        fields += [b'"%b":"%b"' % (name.encode(), choice.reasoning) for name in names]
    if choice.tool:
        fields.append(
            b'"content":null,"tool_calls":[{"id":"call_0","type":"function",'
            b'"function":{"name":"look_up","arguments":"%b"}}]' % choice.tool
        )
    else:
        fields.append(b'"content":"%b"' % choice.answer)
    return b'{"index":%d,"message":{%b},"logprobs":null,"finish_reason":%b}' % (
        index,
        b",".join(fields),
        orjson.dumps(choice.reason),
    )
