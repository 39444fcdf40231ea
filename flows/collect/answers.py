"""What an answer says of its own request: fields of its last events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from deploy_templates.plan import AnswerField
from flows.collect.iterations import number_at

_LAST_BYTES: Final = 16_384  # more than the events that close an answer
_DATA: Final = b"data:"


def answered(fragments: Sequence[bytes], fields: Mapping[str, AnswerField]) -> dict[str, float]:
    """Seconds by name out of one answer's bytes; what it does not say is absent.

    The last event that has a field counts. Answers that were not streamed are one event.
    """
    found: dict[str, float] = {}
    if not fields:
        return found
    wanted = {name: _top(field).encode() for name, field in fields.items()}
    for data in reversed(_events(fragments)):
        open_names = [name for name, top in wanted.items() if name not in found and top in data]
        if open_names and (event := _object(data)) is not None:
            for name in open_names:
                value = number_at(event, fields[name].key)
                if value is not None:
                    found[name] = value * fields[name].scale
        if len(found) == len(fields):
            break
    return found


def _top(field: AnswerField) -> str:
    return '"' + field.key.partition(".")[0] + '"'


def _end(fragments: Sequence[bytes]) -> bytes:
    """The last bytes of an answer, without joining a long one."""
    kept: list[bytes] = []
    size = 0
    for fragment in reversed(fragments):
        kept.append(fragment)
        size += len(fragment)
        if size >= _LAST_BYTES:
            break
    return b"".join(reversed(kept))


def _events(fragments: Sequence[bytes]) -> list[bytes]:
    end = _end(fragments)
    if _DATA not in end:
        return [b"".join(fragments)]
    lines = end.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return [line[len(_DATA) :] for line in lines if line.startswith(_DATA)]


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None
