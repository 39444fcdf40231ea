"""The fixed sets of prompts on which answers are held against a reference's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml

LEAST: Final = 200  # fewer prompts show too little
TEXTS: Final = "agreement-1"
_PLACE: Final = Path(__file__).parent / "prompts"
_IDS: Final = 16  # tokens of a prompt of ids
_MULTIPLIER, _INCREMENT, _MODULUS = 6364136223846793005, 1442695040888963407, 2**64

Prompt = str | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """Prompts in their order, by name; ``sha256`` is of them alone."""

    name: str
    prompts: tuple[Prompt, ...]

    @property
    def sha256(self) -> str:
        """The digest by which results name the set."""
        return digest_of(self.prompts)


def digest_of(prompts: Sequence[Prompt]) -> str:
    """SHA-256 of prompts as JSON, in their order."""
    return hashlib.sha256(json.dumps(prompts, ensure_ascii=True).encode()).hexdigest()


@cache
def text_prompts() -> PromptSet:
    """The shipped set of neutral texts."""
    file = yaml.safe_load((_PLACE / f"{TEXTS}.yaml").read_text(encoding="utf-8"))
    return PromptSet(name=file["name"], prompts=tuple(file["prompts"]))


def id_prompts(vocabulary: int, count: int = LEAST) -> PromptSet:
    """Prompts of token ids for a checkpoint that knows no language, the same on every machine.

    The ids are ordinary ones of a vocabulary of that size: its first ones, which are special
    or bytes in most, are left out. They come from Knuth's 64-bit congruential generator.
    """
    first = min(1000, vocabulary // 4)
    state, prompts = vocabulary, []
    for _ in range(count):
        ids = []
        for _ in range(_IDS):
            state = (state * _MULTIPLIER + _INCREMENT) % _MODULUS
            ids.append(first + (state >> 33) % (vocabulary - first))
        prompts.append(tuple(ids))
    return PromptSet(name=f"ids-{vocabulary}", prompts=tuple(prompts))
