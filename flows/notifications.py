"""What people are told by blocks of a Prefect server: webhooks and notifications.

A message that cannot be delivered ends nothing and loses nothing: that nobody was told is said
where the verb ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flows.errors import UsageError

API_URL: Final = "PREFECT_API_URL"
_REFUSED: Final = 400  # HTTP statuses from here on


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is told: how it ended and why, the exit code, and where the rest can be read."""

    subject: str
    sentence: str
    reasons: Sequence[str]
    exit_code: int
    stamp: str
    place: str
    ended_early: str | None = None

    @property
    def body(self) -> str:
        """The message as text."""
        lines = [self.sentence, *(f"- {reason}" for reason in self.reasons)]
        if self.ended_early is not None:
            lines.append(f"It ended early: {self.ended_early}")
        return "\n".join([*lines, f"{self.stamp}, exit code {self.exit_code}", self.place])

    def to_json(self) -> dict[str, Any]:
        """The message for programs; ``text`` is what chat services show."""
        return {
            "schema_version": 1,
            "text": f"{self.subject}\n{self.body}",
            "subject": self.subject,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
            "exit_code": self.exit_code,
            "stamp": self.stamp,
            "place": self.place,
            "ended_early": self.ended_early,
        }


def check_block(name: str, environment: Mapping[str, str], *, option: str = "--notify") -> None:
    """Return if a block of that name can be asked for at all; ``option`` is where it stands.

    Raises
    ------
    UsageError
        For a name without a type, or where no Prefect server is named.
    """
    kind, slash, own = name.partition("/")
    if not (kind and slash and own):
        raise UsageError(
            f"{option} {name}", "it is no block's name", "Write TYPE/NAME, as in webhook/team"
        )
    if not environment.get(API_URL):
        raise UsageError(
            f"{option} {name}",
            "blocks lie on a Prefect server, and none is named",
            f"Set {API_URL} to the server's address",
        )


def tell(block: str, message: Message) -> str:
    """Tell it by the block; who was told, or why nobody was. Never an error."""
    try:
        asyncio.run(_tell(block, message))
    except Exception as error:  # noqa: BLE001 - the blocks are others', and so are their errors
        return f"nobody was told by {block}: {_why(error)}"
    return f"told by {block}"


class _NotTold(Exception):
    """An error in our own words."""


def _why(error: Exception) -> str:
    """What may be said of an error: others' texts hold addresses, headers and so secrets."""
    if isinstance(error, _NotTold):
        return str(error)
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"{type(error).__name__}{'' if status is None else f' ({status})'}"


async def _tell(block: str, message: Message) -> None:
    from prefect.blocks.abstract import NotificationBlock  # noqa: PLC0415
    from prefect.blocks.core import Block  # noqa: PLC0415 - its settings come first
    from prefect.blocks.webhook import Webhook  # noqa: PLC0415

    found: Any = await Block.aload(block)
    if isinstance(found, Webhook):
        answer = await found.call(message.to_json())
        if answer.status_code >= _REFUSED:
            raise _NotTold(f"it answered {answer.status_code}")
    elif isinstance(found, NotificationBlock):
        told: Any = found
        send = getattr(told, "anotify", told.notify)
        with told.raise_on_failure():
            await send(body=message.body, subject=message.subject)
    else:
        raise _NotTold(f"{type(found).__name__} is no webhook and no notification")
