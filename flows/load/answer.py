"""What one HTTP answer said: output chunks with their stamps, usage, how it ended.

Shapes read here are those of the OpenAI completions and chat endpoints as vLLM, SGLang,
TensorRT-LLM, llama.cpp's server and TGI speak them. A chunk is output when it carries text
(of the answer, the reasoning or a tool call), token ids, or a usage count that grew; an
empty role chunk, `content: null` and a bare finish reason are not output.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from flows.load.delta import delta_texts, plain
from flows.load.plan import Dialect
from flows.load.sse import Event

ERROR_CHARACTERS: Final = 500

_MALFORMED: Final = (AttributeError, KeyError, TypeError)  # JSON, but not a chunk's shape
_UNREADABLE: Final = (*_MALFORMED, ValueError, RecursionError)


@dataclass(slots=True, kw_only=True)
class Answer:
    """One answer as read so far; the lists hold one entry per output chunk.

    `totals` are the server's running counts of output tokens where it sends usage in every
    chunk, else None. `ended_by_usage` is True once usage came in the way servers send it
    when nothing follows. `error` is the server's own sentence from inside a 200 answer.
    """

    dialect: Dialect
    stamps_ns: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    totals: list[int | None] = field(default_factory=list)
    first_answer_ns: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    finish_reason: str | None = None
    done: bool = False
    ended_by_usage: bool = False
    error: str | None = None
    _usages: int = 0
    _usage_before: bool = False
    _choices: int = 0

    def fail(self, error: str) -> None:
        """Keep the first error of the answer."""
        if self.error is None:
            self.error = _clean(error)[:ERROR_CHARACTERS]

    def take(self, message: Mapping[str, Any], stamp_ns: int) -> None:
        """Take one message of a stream, complete at `stamp_ns`."""
        choices = message.get("choices")
        if message.get("error") or (not choices and message.get("object") == "error"):
            self.fail(_error_text(message))
        elif choices:
            self._take_chunk(choices[0], message.get("usage"), stamp_ns)
        elif message.get("usage"):
            self._take_usage(message["usage"])
            self.ended_by_usage = True

    def _take_chunk(self, choice: Mapping[str, Any], usage: Any, stamp_ns: int) -> None:
        finish_reason = choice.get("finish_reason")
        if finish_reason:
            self.finish_reason = _clean(str(finish_reason))
        total = None
        has_tokens = False
        if usage:
            before = self.output_tokens or 0
            self._take_usage(usage)
            total = self.output_tokens
            # Usage that comes once, beside the finish reason, is no running count.
            is_running = self._usage_before or not finish_reason
            has_tokens = is_running and (total or 0) > before
            self._usages += 1
        self._usage_before = bool(usage)
        self._choices += 1
        if self.dialect == "chat":
            thought, text = delta_texts(choice.get("delta") or {})
            is_answer = bool(text)
        else:
            thought, text = "", plain(choice.get("text"))
            is_answer = True
        if thought or text or has_tokens or choice.get("token_ids"):
            if is_answer and self.first_answer_ns is None:
                self.first_answer_ns = stamp_ns
            self.stamps_ns.append(stamp_ns)
            self.texts.append(thought + text)
            self.totals.append(total)

    def take_document(self, message: Mapping[str, Any], stamp_ns: int) -> None:
        """Take an answer that is one JSON document: one chunk, whatever it holds."""
        choices = [
            {**choice, "delta": choice.get("message")}
            for choice in message.get("choices") or ()
        ]
        self.take({**message, "choices": choices}, stamp_ns)
        if self.error is None and not self.stamps_ns and self.output_tokens:
            self.stamps_ns.append(stamp_ns)
            self.texts.append("")
            self.totals.append(self.output_tokens)

    def end(self) -> None:
        """Judge, with the last chunk taken, whether usage marked the end of the stream."""
        if self._usages == 1 and self._usage_before and self._choices > 1:
            self.ended_by_usage = True

    def _take_usage(self, usage: Mapping[str, Any]) -> None:
        self.prompt_tokens = _count(usage, "prompt_tokens", self.prompt_tokens)
        self.output_tokens = _count(usage, "completion_tokens", self.output_tokens)
        details = usage.get("prompt_tokens_details")
        if details:
            self.cached_tokens = _count(details, "cached_tokens", self.cached_tokens)
        details = usage.get("completion_tokens_details")
        if details:
            self.reasoning_tokens = _count(details, "reasoning_tokens", self.reasoning_tokens)


def _count(usage: Mapping[str, Any], name: str, before: int | None) -> int | None:
    """The last usage rules; a count that is missing or null leaves the one before."""
    value = usage.get(name)
    return value if type(value) is int and value >= 0 else before


def read_events(events: Iterable[Event], dialect: Dialect) -> Answer:
    """Return the answer that a stream of server-sent events gave."""
    answer = Answer(dialect=dialect)
    for name, data, stamp_ns, is_whole in events:
        try:
            message = orjson.loads(data)
            if name == b"error":
                answer.fail(_error_text(message))
            else:
                answer.take(message, stamp_ns)
        except orjson.JSONDecodeError:
            _take_irregular(answer, (name, data, stamp_ns, is_whole))
        except _MALFORMED:
            answer.fail(_unreadable(data))
    answer.end()
    return answer


def _take_irregular(answer: Answer, event: Event) -> None:
    """Take an event whose data orjson refuses: the end mark, an error, or lenient JSON."""
    name, data, stamp_ns, is_whole = event
    if data.strip() == b"[DONE]":
        answer.done = True
    elif name == b"error":
        answer.fail(data.decode(errors="replace"))
    elif is_whole and name in (b"", b"message"):
        try:
            answer.take(json.loads(data), stamp_ns)  # it takes NaN and lone surrogates
        except _UNREADABLE:
            answer.fail(_unreadable(data))


def read_body(body: bytes, stamp_ns: int, dialect: Dialect) -> Answer:
    """Return the answer of a body that is one JSON document, complete at `stamp_ns`."""
    answer = Answer(dialect=dialect)
    try:
        answer.take_document(json.loads(body), stamp_ns)
    except _UNREADABLE:
        answer.fail(_unreadable(body))
    return answer


def error_of_body(body: bytes) -> str:
    """Return what the body of a refused request says, as one short sentence."""
    try:
        return _clean(_error_text(json.loads(body)))[:ERROR_CHARACTERS]
    except (ValueError, RecursionError):
        return body.decode(errors="replace").strip()[:ERROR_CHARACTERS]


def _clean(text: str) -> str:
    """Text without the lone surrogates that JSON can spell and UTF-8 cannot."""
    return text.encode(errors="replace").decode()


def _unreadable(data: bytes) -> str:
    return f"unreadable answer: {data[:80].decode(errors='replace')}"


def _error_text(message: Any) -> str:
    inner = (message.get("error") or message) if isinstance(message, dict) else message
    if isinstance(inner, dict) and isinstance(inner.get("message"), str):
        return str(inner["message"])
    return inner if isinstance(inner, str) else json.dumps(inner)
