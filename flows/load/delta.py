"""The text that one chunk carries, in the shapes that servers send it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def plain(text: Any) -> str:
    """Return `text` where it is one; null, absence and anything else carry no text."""
    return text if type(text) is str else ""


def delta_texts(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Reasoning text and answer text of a chat delta; tool calls belong to the answer."""
    content = delta.get("content") or ""
    if content and len(delta) == 1 and type(content) is str:
        return "", content
    thought = plain(delta.get("reasoning_content")) or plain(delta.get("reasoning"))
    if type(content) is list:
        inner, content = _part_texts(content)
        thought += inner
    text = plain(content) + plain(delta.get("refusal"))
    for call in delta.get("tool_calls") or ():
        text += _function_text(call.get("function") or {})
    return thought, text + _function_text(delta.get("function_call") or {})


def _function_text(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments") or ""
    if type(arguments) is not str:
        arguments = json.dumps(arguments)
    return plain(function.get("name")) + arguments


def _part_texts(parts: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Reasoning and answer text of a content that is a list of typed parts."""
    thought = text = ""
    for part in parts:
        if part.get("type") == "thinking":
            thought += "".join(plain(inner.get("text")) for inner in part.get("thinking") or ())
        else:
            text += plain(part.get("text"))
    return thought, text
