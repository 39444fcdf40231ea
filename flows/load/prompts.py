"""Prompts of an exact length that no prefix cache has seen.

A prompt is a sequence of symbols: token ids where the server takes them, else words. Its
first symbols are its number in base (size of the alphabet), last digit first, so that two
prompts of a seed differ from the start, whatever their phase or replication; the rest is
drawn. What a contract wants shared stands before that mark, the same in every prompt.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from flows.load.draws import Purpose, generator
from flows.load.plan import Dialect
from flows.load.words import WORDS

BLOCK_TOKENS: Final = 512  # tokens that one hash id of a public Mooncake trace stands for
_PER_REPLICATION: Final = 1 << 24  # prompt numbers that one replication may use
_NUMBERS: Final = 1 << 34  # of all replications together

Symbols = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alphabet:
    """What prompts are made of, and how a sequence of it is written in a JSON body."""

    symbols: tuple[str, ...]
    joint: str
    opening: str
    closing: str

    @property
    def size(self) -> int:
        """How many different symbols there are."""
        return len(self.symbols)

    def written(self, sequence: Symbols) -> str:
        """The JSON text of a prompt: a list of token ids, or a string of words."""
        names = self.symbols
        return (
            self.opening + self.joint.join([names[i] for i in sequence.tolist()]) + self.closing
        )


def token_ids(first: int, last: int) -> Alphabet:
    """Token ids from ``first`` to ``last``, sent as a list of numbers."""
    names = tuple(str(token) for token in range(first, last + 1))
    return Alphabet(symbols=names, joint=",", opening="[", closing="]")


def words() -> Alphabet:
    """Words of one token each, sent as text."""
    return Alphabet(symbols=WORDS, joint=" ", opening='"', closing='"')


@dataclass(slots=True, kw_only=True)
class PromptSource:
    """Draws the prompts of one replication in their order of sending."""

    alphabet: Alphabet
    seed: int
    replication: int
    _number: int = field(init=False)
    _digits: int = field(init=False)
    _rng: np.random.Generator = field(init=False)
    _prefix: Symbols = field(init=False)
    _blocks: dict[int, Symbols] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._digits = math.ceil(math.log(_NUMBERS, self.alphabet.size))
        start = generator(self.seed, 0, Purpose.MARKS).integers(_NUMBERS)
        self._number = int(start) + self.replication * _PER_REPLICATION
        self._rng = generator(self.seed, self.replication, Purpose.PROMPTS)
        self._prefix = np.empty(0, dtype=np.int64)

    def draw(self, symbols: int, shared: int = 0) -> Symbols:
        """The next prompt: ``symbols`` long, of which the first ``shared`` are common."""
        own = symbols - shared
        drawn = self._rng.integers(0, self.alphabet.size, own)
        mark = self._mark()[:own]
        drawn[: len(mark)] = mark
        return np.concatenate((self._shared(shared), drawn)) if shared else drawn

    def draw_blocks(self, symbols: int, blocks: Sequence[int]) -> Symbols:
        """The next prompt, made of a trace's blocks; what they leave open is unique."""
        parts = [self._block(block) for block in blocks]
        known = min(symbols, len(parts) * BLOCK_TOKENS)
        parts = [np.concatenate(parts)[:known]] if parts else []
        return np.concatenate([*parts, self.draw(symbols - known)])

    def _mark(self) -> Symbols:
        """The next prompt's number in base (alphabet size), last digit first."""
        powers = self.alphabet.size ** np.arange(self._digits, dtype=np.int64)
        digits = self._number % _NUMBERS // powers % self.alphabet.size
        self._number += 1
        return digits

    def _shared(self, symbols: int) -> Symbols:
        if len(self._prefix) < symbols:
            rng = generator(self.seed, self.replication, Purpose.PREFIX)
            self._prefix = rng.integers(0, self.alphabet.size, symbols)
        return self._prefix[:symbols]

    def _block(self, block: int) -> Symbols:
        if block not in self._blocks:
            rng = generator(self.seed, self.replication, Purpose.BLOCKS, block)
            self._blocks[block] = rng.integers(0, self.alphabet.size, BLOCK_TOKENS)
        return self._blocks[block]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyForm:
    """The part of a request's JSON body that is the same for every request of a cell."""

    dialect: Dialect
    model: str
    temperature: float
    seed: int
    forced: bool
    stream: bool = True

    def body(self, prompt_json: str, output_tokens: int) -> str:
        """The JSON body that asks for ``output_tokens`` tokens after a prompt.

        ``prompt_json`` is JSON text: token ids or a string; on a chat endpoint a string
        becomes the user's message and a list is the messages themselves.
        """
        fields: dict[str, Any] = {"model": self.model}
        fields |= {"max_tokens": output_tokens, "temperature": self.temperature}
        fields |= {"seed": self.seed, "stream": self.stream}
        if self.stream:
            fields["stream_options"] = {"include_usage": True}
        if self.forced:
            fields["ignore_eos"] = True
        if self.dialect == "completions":
            key = "prompt"
        else:
            key = "messages"
            if prompt_json.startswith('"'):
                prompt_json = '[{"role":"user","content":' + prompt_json + "}]"
        rest = json.dumps(fields, separators=(",", ":"))
        return rest[:-1] + f',"{key}":' + prompt_json + "}"


def messages_json(messages: Sequence[Mapping[str, str]]) -> str:
    """The JSON text of a chat's messages."""
    return json.dumps(list(messages), ensure_ascii=False, separators=(",", ":"))
