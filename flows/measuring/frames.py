"""Values between our own processes: pickles behind their length, straight from descriptors.

No buffered stream of Python's is left locked by a thread that waits for the next one.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any, Final

_LENGTH: Final = struct.Struct("!Q")
_MOST_READ: Final = 1 << 20


def send(descriptor: int, value: Any) -> None:
    """Write one value; BrokenPipeError where nobody reads."""
    content = pickle.dumps(value)
    rest = memoryview(_LENGTH.pack(len(content)) + content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int) -> Any:
    """The next value; EOFError where the other end is closed."""
    (length,) = _LENGTH.unpack(_exactly(descriptor, _LENGTH.size))
    return pickle.loads(_exactly(descriptor, length))  # noqa: S301 - our own process wrote it


def _exactly(descriptor: int, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        read = os.read(descriptor, min(_MOST_READ, length - len(parts)))
        if not read:
            raise EOFError
        parts += read
    return bytes(parts)
