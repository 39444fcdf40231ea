"""What an HTTP error before the clock means, and what to do about it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from flows.bench.endpoint import sibling_of
from flows.bench.http import Answer, get
from flows.bench.masking import masked
from flows.errors import InfrastructureError
from flows.load.address import shown
from flows.load.plan import Endpoint

_LIST_TIMEOUT_S = 10.0
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The error to raise, and whether another form of the same prompt may be accepted."""

    error: InfrastructureError
    is_about_body: bool


def explain(answer: Answer, endpoint: Endpoint, model: str) -> Refusal:
    """Why a server answered one request with an HTTP error."""
    status, message = answer.status, masked(_message(answer), [endpoint])[:_SHOWN]
    seen = f"HTTP {status}" + (f": {message}" if message else "")
    is_about_body = False
    if 300 <= status < 400:
        elsewhere = shown(answer.headers.get("location", "another address"))
        do = f"It sends on to {elsewhere}: give the address that answers, as none is followed"
    elif status in (401, 403):
        do = "Give its key with --api-key-env NAME, or another --header"
    elif status == 404 and _is_about_model(answer, message, model):
        seen = f"it does not serve the model {model!r} (HTTP 404: {message})"
        do = _models(endpoint)
    elif status in (404, 405):
        do = (
            "The path is not one of its calls: check it, as in /v1/completions "
            "or /v1/chat/completions"
        )
    elif "ignore_eos" in message:
        do = "It cannot be forced to a length: use --output natural"
    elif 400 <= status < 500 and status != 429:
        do = "Check --model, --prompt-tokens and --output-tokens against what it serves"
        is_about_body = True
    else:
        do = "Wait until it is ready and idle, or read its log"
    return Refusal(
        error=InfrastructureError(shown(endpoint.url), seen, do), is_about_body=is_about_body
    )


def _message(answer: Answer) -> str:
    """The server's own sentence, from whichever error shape it uses."""
    try:
        body: Any = json.loads(answer.body)
    except ValueError:
        return " ".join(answer.text.split())
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        inner = inner.get("message") or inner.get("detail") or inner
    return inner if isinstance(inner, str) else json.dumps(inner)


def _is_about_model(answer: Answer, message: str, model: str) -> bool:
    """True for the two ways in which servers say that they serve another model."""
    named = re.search(rf"(?<![\w/]){re.escape(model)}(?!\w)", message)
    is_named = named is not None and "model" in message.lower()
    return is_named or "model_not_found" in answer.text


def _models(endpoint: Endpoint) -> str:
    """Advice with the names that the server lists, where it lists any."""
    try:
        listed: Any = json.loads(
            get(sibling_of(endpoint.url, "models"), endpoint, _LIST_TIMEOUT_S).body
        )
        names = [str(entry["id"]) for entry in listed["data"]]
    except (InfrastructureError, ValueError, KeyError, TypeError):
        names = []
    return f"Use --model {names[0]}" if names else "Check --model against what it serves"
