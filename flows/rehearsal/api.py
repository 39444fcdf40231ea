"""The OpenAI request bodies that the engine accepts, checked, and the errors it answers."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

Kind = Literal["completions", "chat"]
DEFAULT_COMPLETION_TOKENS = 16
MAX_PROMPTS = 128


class ApiError(Exception):
    """An answer that is not 200, with the fields of OpenAI's error object."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.body = error_body(status, message, param=param, code=code)


def error_body(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> bytes:
    """JSON error object as OpenAI shapes it."""
    kinds = {401: "authentication_error", 429: "rate_limit_error", 404: "not_found_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    error = {"message": message, "type": kind, "param": param, "code": code}
    return orjson.dumps({"error": error})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt: its token count, a checksum of its content, hashes of its full blocks."""

    tokens: int
    checksum: int
    block_hashes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A checked request for tokens."""

    kind: Kind
    model: str
    prompts: tuple[Prompt, ...]
    max_tokens: int | None
    ignore_eos: bool
    stream: bool
    include_usage: bool
    continuous_usage: bool
    temperature: float
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRules:
    """How prompts are counted: words of text are tokens, and the server adds some."""

    block_tokens: int  # 0: no block hashes wanted
    drift_tokens: int
    chat_overhead_tokens: int


def parse_generation(kind: Kind, body: bytes, rules: PromptRules) -> Generation:
    """Return the checked request, or raise the ApiError that a strict server would answer."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ApiError(400, "the body is not a JSON object")
    stream = _typed(data, "stream", bool, False)
    options = _stream_options(data, stream)
    prompts = _prompts(data, rules) if kind == "completions" else (_messages(data, rules),)
    return Generation(
        kind=kind,
        model=_typed(data, "model", str, ""),
        prompts=prompts,
        max_tokens=_max_tokens(data, kind),
        ignore_eos=_typed(data, "ignore_eos", bool, False),
        stream=stream,
        include_usage=_typed(options, "include_usage", bool, False),
        continuous_usage=_typed(options, "continuous_usage_stats", bool, False),
        temperature=_temperature(data),
        seed=_typed(data, "seed", int, None),
    )


def _typed(data: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = data.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ApiError(400, f"{key} is {str(value)[:40]!r}: needs {kind.__name__}", param=key)
    return value


def _stream_options(data: Mapping[str, Any], stream: bool) -> Mapping[str, Any]:
    options: Mapping[str, Any] = _typed(data, "stream_options", dict, {})
    if options and not stream:
        raise ApiError(
            400, "stream_options goes only with stream: true", param="stream_options"
        )
    return options


def _max_tokens(data: Mapping[str, Any], kind: Kind) -> int | None:
    key = "max_tokens"
    if kind == "chat" and data.get("max_completion_tokens") is not None:
        key = "max_completion_tokens"
    default = DEFAULT_COMPLETION_TOKENS if kind == "completions" else None
    tokens: int | None = _typed(data, key, int, default)
    if tokens is not None and tokens < 1:
        raise ApiError(400, f"{key} is {tokens}: needs at least 1", param=key)
    if _typed(data, "n", int, 1) != 1:
        raise ApiError(400, "n is not 1: one choice per prompt is served", param="n")
    return tokens


def _temperature(data: Mapping[str, Any]) -> float:
    value = data.get("temperature")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 2:
        raise ApiError(400, f"temperature is {value!r}: needs 0 to 2", param="temperature")
    return float(value)


def _prompts(data: Mapping[str, Any], rules: PromptRules) -> tuple[Prompt, ...]:
    prompt = data.get("prompt")
    if isinstance(prompt, str):
        return (_text_prompt(prompt, rules, 0),)
    if not isinstance(prompt, list) or not prompt:
        raise ApiError(
            400, "prompt is needed: text, a list of texts, or token ids", param="prompt"
        )
    if isinstance(prompt[0], int):
        return (_ids_prompt(prompt, rules),)
    if len(prompt) > MAX_PROMPTS:
        raise ApiError(400, f"more than {MAX_PROMPTS} prompts", param="prompt")
    return tuple(
        _text_prompt(item, rules, 0) if isinstance(item, str) else _ids_prompt(item, rules)
        for item in prompt
    )


def _ids_prompt(ids: list[int], rules: PromptRules) -> Prompt:
    try:
        packed = array("I", ids)
    except (TypeError, OverflowError):
        raise ApiError(400, "prompt is not a list of token ids", param="prompt") from None
    if not packed:
        raise ApiError(400, "prompt has no tokens", param="prompt")
    data = packed.tobytes()
    size = packed.itemsize * rules.block_tokens
    blocks = [data[i : i + size] for i in range(0, len(data) - size + 1, size)] if size else []
    return Prompt(
        tokens=len(packed) + rules.drift_tokens,
        checksum=zlib.crc32(data),
        block_hashes=_chained(blocks),
    )


def _text_prompt(text: str, rules: PromptRules, overhead_tokens: int) -> Prompt:
    words = text.split()
    size = rules.block_tokens
    blocks = []
    if size:
        blocks = [tuple(words[i : i + size]) for i in range(0, len(words) - size + 1, size)]
    return Prompt(
        tokens=max(1, len(words) + overhead_tokens + rules.drift_tokens),
        checksum=zlib.crc32(text.encode()),
        block_hashes=_chained(blocks),
    )


def _chained(blocks: list[Any]) -> tuple[int, ...]:
    """Hash of each block together with all blocks before it."""
    hashes = []
    value = 0
    for block in blocks:
        value = hash((value, block))
        hashes.append(value)
    return tuple(hashes)


def _messages(data: Mapping[str, Any], rules: PromptRules) -> Prompt:
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "messages is needed: a list of messages", param="messages")
    text = " ".join(_message_text(message) for message in messages)
    return _text_prompt(text, rules, rules.chat_overhead_tokens)


def _message_text(message: object) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ApiError(400, "a message is not an object with a role", param="messages")
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return " ".join(str(part.get("text", "")) for part in content)
    raise ApiError(400, "content is neither text nor a list of parts", param="messages")
