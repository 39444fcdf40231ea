"""The text of an answer: made-up words, one per token, the same for the same prompt."""

from __future__ import annotations

import random
from dataclasses import dataclass

from flows.rehearsal.streamshape import StreamShape

COUNT = 256
LETTERS = {"ascii": "etaoinshrdlu", "unicode": "äéßøλжи水火😀", "escaped": "äéßøλжи水火😀"}


def _table(style: str) -> tuple[bytes, ...]:
    rng = random.Random(f"words/{style}")  # noqa: S311
    words = [" " + "".join(rng.choices(LETTERS[style], k=4)) for _ in range(COUNT)]
    if style == "escaped":
        return tuple(_escaped(word) for word in words)
    return tuple(word.encode() for word in words)


def _escaped(word: str) -> bytes:
    r"""JSON string content in pure ASCII: \uXXXX, surrogate pairs beyond the BMP."""
    units = word.encode("utf-16-be")
    pairs = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in pairs).encode()


TABLES = {style: _table(style) for style in LETTERS}


@dataclass(frozen=True, slots=True)
class Words:
    """Endless words from a starting point; `piece` gives JSON string content in UTF-8."""

    table: tuple[bytes, ...]
    start: int
    stride: int

    @classmethod
    def of(cls, shape: StreamShape, checksum: int) -> Words:
        """Words that depend on this checksum alone."""
        return cls(TABLES[shape.text], checksum % COUNT, (checksum >> 8) % COUNT | 1)

    def piece(self, position: int, count: int) -> bytes:
        """Text of `count` tokens from this position on."""
        if count == 1:
            return self.table[(self.start + position * self.stride) % COUNT]
        return b"".join(
            self.table[(self.start + i * self.stride) % COUNT]
            for i in range(position, position + count)
        )
