"""A script that is run on a host: wrapped so that its end is told apart from all others.

A connection says the same of a command that was killed and of one that was lost. So each
script prints a word of its own before it begins, and again, with its code, when it has ended;
what a login shell prints before is left out.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from typing import Any, Final

from flows.errors import InfrastructureError

_READ_BYTES: Final = 1 << 16
_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A command that has ended by itself: its code (128 and the signal for a killed one)."""

    code: int
    output: bytes
    complaints: bytes

    @property
    def text(self) -> str:
        """What it printed."""
        return self.output.decode(errors="replace")

    @property
    def last_words(self) -> str:
        """The last line that it complained with, or printed."""
        said = (self.complaints or self.output).decode(errors="replace").strip()
        return said.splitlines()[-1] if said else "it said nothing"


def wrapped(script: str, word: str) -> str:
    """The script for a shell, with ``word`` around what it prints, and its code at the end."""
    return f"printf '%s\\n' {word}\n(\n{script}\n)\nprintf '\\n%s %s\\n' {word} $?"


def unwrapped(output: bytes, complaints: bytes, word: str) -> Done | None:
    """How the wrapped script ended; None where it did not come to its end."""
    _, _, printed = output.partition(f"{word}\n".encode())
    body, mark, code = printed.rpartition(f"\n{word} ".encode())
    return Done(code=int(code), output=body, complaints=complaints) if mark else None


def drained(channel: Any, stdin: bytes, limit_s: float) -> tuple[bytes, bytes]:
    """Both streams of a channel to their ends; one that is not read would block the other."""
    until_s = time.monotonic() + limit_s
    output, complaints = bytearray(), bytearray()
    channel.settimeout(limit_s)
    if stdin:
        channel.sendall(stdin)
    channel.shutdown_write()
    while True:
        is_over = channel.closed or channel.eof_received
        moved = False
        while channel.recv_ready():
            output += channel.recv(_READ_BYTES)
            moved = True
        while channel.recv_stderr_ready():
            complaints += channel.recv_stderr(_READ_BYTES)
            moved = True
        if is_over and not moved:
            return bytes(output), bytes(complaints)
        if time.monotonic() > until_s:
            raise InfrastructureError(
                "a command", f"it took longer than {limit_s:g} s", "Look what holds the host"
            )
        if not moved:
            select.select([channel], [], [], _LOOK_S)
