"""Greedy answers with their log-probabilities, from an OpenAI-compatible completions call.

Servers write them in two ways: per token an object with a list of the likeliest ones
(llama-server), or lists side by side (vLLM, SGLang, the completions call as first published).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from catalog.fixed_prompts import Prompt
from flows.bench.endpoint import dialect_of
from flows.bench.http import Answer as HttpAnswer
from flows.bench.http import post
from flows.bench.masking import masked
from flows.collect.source import SIMULATED
from flows.errors import InfrastructureError, UsageError
from flows.load.address import shown
from flows.load.plan import Endpoint

_LISTED: Final = (20, 5)  # likeliest tokens: what engines allow, what hosted services do
_UNDECODED: Final = "\x00bytes:"  # a token that is a part of a character
_ID: Final = "token_id:"
# what is no text: llama.cpp names it "", others as the vocabulary does
_CONTROL: Final = re.compile(
    r"<\|[^<>|\s]+\|>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>"
)
_END: Final = ""
_ABOUT_PROMPTS: Final = (400, 422)


class UnansweredError(InfrastructureError):
    """A server that is there and answers such a prompt not, or without what is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that is asked, and how: ``is_ids`` where prompts are token ids."""

    endpoint: Endpoint
    model: str
    is_ids: bool = False
    listed: int = _LISTED[0]
    timeout_s: float = 600.0

    @property
    def where(self) -> str:
        """Its address without what is secret."""
        return shown(self.endpoint.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """A greedy answer: its tokens, and the likeliest ones at its first position.

    Tokens are named by their id where prompts are ids, else by their text: those that are no
    text, as the end of an answer, by an empty one, and the end itself is left out.
    """

    tokens: tuple[str, ...]
    top: Mapping[str, float]


def refuse_rehearsal(server: Server, prompt: Prompt) -> None:
    """Ask for one token, and go on only with a server whose answers come of a model.

    Raises
    ------
    UsageError
        For the rehearsal engine, and for an address that is no completions call.
    InfrastructureError
        If nothing answers.
    """
    _require_completions(server)
    if SIMULATED in _sent(server, prompt, 1).headers:
        raise UsageError(
            server.where,
            "it is a rehearsal engine: its words are made up, so it has no answers to hold",
            "Give the completions call of a server that runs the model",
        )


def fitted(server: Server, prompt: Prompt) -> Server:
    """The server with as many likeliest tokens as it lists.

    Raises
    ------
    UsageError
        For an address that is no completions call.
    InfrastructureError
        If it does not answer, or without log-probabilities.
    """
    _require_completions(server)
    for listed in _LISTED:
        asked = Server(
            endpoint=server.endpoint,
            model=server.model,
            is_ids=server.is_ids,
            listed=listed,
            timeout_s=server.timeout_s,
        )
        answer = _sent(asked, prompt, 1)
        if answer.status == 400 and listed != _LISTED[-1]:
            continue
        read_answer(answer, asked)
        return asked
    raise AssertionError("the last number is answered or raises")


def _require_completions(server: Server) -> None:
    if dialect_of(server.endpoint.url) != "completions":
        raise UsageError(
            server.where,
            "a chat call continues no given answer, so answers cannot be forced",
            "Give the completions call, as in http://localhost:8000/v1/completions",
        )


def greedy(
    server: Server,
    prompts: Sequence[Prompt],
    *,
    tokens: int,
    streams: int,
    look: Callable[[], None],
) -> tuple[Greedy, ...]:
    """The greedy answers to prompts, in their order, with so many in flight at a time.

    ``look`` is called before each is sent, and may raise.
    """

    def one(prompt: Prompt) -> Greedy:
        look()
        return read_answer(_sent(server, prompt, tokens), server)

    with ThreadPoolExecutor(streams) as pool:
        waiting = [pool.submit(one, prompt) for prompt in prompts]
        try:
            return tuple(each.result() for each in waiting)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def continued(prompt: Prompt, tokens: Sequence[str]) -> Prompt:
    """The prompt with the first tokens of an answer behind it."""
    if not isinstance(prompt, str):
        return (*prompt, *map(int, tokens))
    return prompt + b"".join(map(_bytes, tokens)).decode(errors="ignore")


def read_answer(answer: HttpAnswer, server: Server) -> Greedy:
    """The tokens of an answer; raises UnansweredError for one without log-probabilities."""
    if answer.status != 200:
        seen = masked(answer.text, [server.endpoint])[:160]
        kind = UnansweredError if answer.status in _ABOUT_PROMPTS else InfrastructureError
        raise kind(
            server.where, f"it refuses a prompt ({answer.status}: {seen})", "Check its log"
        )
    try:
        found = json.loads(answer.body)["choices"][0]["logprobs"]
        steps = tuple(_steps(found, is_ids=server.is_ids))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnansweredError(
            server.where,
            "its answers carry no log-probabilities that can be read",
            "Compare endpoints that return them (logprobs), or measure tasks alone",
        ) from None
    tokens = tuple(token for token, _ in steps)
    if tokens and tokens[-1] == _END:
        tokens = tokens[:-1]  # some servers list it, some do not
    return Greedy(tokens=tokens, top=steps[0][1] if steps else {})


_Step = tuple[str, dict[str, float]]


def _steps(found: Mapping[str, Any], *, is_ids: bool) -> Iterator[_Step]:
    """Each token with the likeliest ones in its place."""
    if "content" in found:
        for each in found["content"]:
            top = ((_named(one, is_ids=is_ids), one["logprob"]) for one in each["top_logprobs"])
            yield _named(each, is_ids=is_ids), _finite(top)
        return
    for token, listed in zip(found["tokens"], found["top_logprobs"], strict=True):
        top = ((_plain(name, is_ids=is_ids), value) for name, value in listed.items())
        yield _plain(token, is_ids=is_ids), _finite(top)


def _finite(top: Iterator[tuple[str, float | None]]) -> dict[str, float]:
    """Log-probabilities by name; tokens of one text, as control tokens are, count together."""
    found: dict[str, float] = {}
    for name, value in top:
        if value is not None and math.isfinite(value):
            known = found.get(name)
            found[name] = value if known is None else min(_together(known, value), 0.0)
    return found


def _together(one: float, other: float) -> float:
    most = max(one, other)
    return most + math.log1p(math.exp(-abs(one - other)))


def _named(entry: Mapping[str, Any], *, is_ids: bool) -> str:
    if is_ids:
        return str(int(entry["id"]))
    content = entry.get("bytes")
    if content is None:
        return _plain(str(entry["token"]), is_ids=False)
    try:
        return bytes(content).decode()
    except UnicodeDecodeError:
        return _UNDECODED + bytes(content).hex()


def _plain(token: str, *, is_ids: bool) -> str:
    if is_ids:
        return str(int(token.removeprefix(_ID)))
    return _END if _CONTROL.fullmatch(token) else token


def _bytes(token: str) -> bytes:
    if token.startswith(_UNDECODED):
        return bytes.fromhex(token.removeprefix(_UNDECODED))
    return token.encode()


def _sent(server: Server, prompt: Prompt, tokens: int) -> HttpAnswer:
    body: dict[str, Any] = {
        "model": server.model,
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "logprobs": server.listed,
        "stream": False,
    }
    if server.is_ids:
        body["return_tokens_as_token_ids"] = True
    return post(server.endpoint, json.dumps(body), server.timeout_s)


def returns_prompt_logprobs(server: Server) -> bool:
    """Whether a completions call gives the log-probability of each token of its prompt."""
    body = {
        "model": server.model,
        "prompt": "one two three four",
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": 1,
        "echo": True,
    }
    answer = post(server.endpoint, json.dumps(body), server.timeout_s)
    try:
        found = json.loads(answer.body)["choices"][0]["logprobs"]["token_logprobs"]
    except (ValueError, LookupError, TypeError):
        return False
    return isinstance(found, list) and sum(each is not None for each in found) > 1
