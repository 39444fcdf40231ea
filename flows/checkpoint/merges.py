"""Merges of a byte-level BPE in which every token's text is encoded to that token alone.

They join small letters and a space in front only, so that it does not matter by which rule an
engine splits text before it merges. In order: a consonant and a vowel; the words of the text
prompts, each also with a space before it; made-up words of two syllables and of three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from typing import Final

from flows.load.words import WORDS

SPACE: Final = "Ġ"  # how byte-level BPE writes the byte 0x20
Merge = tuple[str, str]

_LETTERS: Final = tuple(product("bcdfghjklmnpqrstvwxyz", "aeiou"))
_SYLLABLES: Final = tuple("".join(letters) for letters in _LETTERS)


class _Ranks(dict[Merge, int]):
    """Rank of each merge that has been given out."""

    def new(self, merge: Merge) -> Iterator[Merge]:
        """The merge with the next rank, unless it has one."""
        if merge not in self:
            self[merge] = len(self)
            yield merge


def merges() -> Iterator[Merge]:
    """Merges by rank, more than any vocabulary needs; each makes a new token."""
    ranks = _Ranks()
    for letters in _LETTERS:
        yield from ranks.new(letters)
    for word in WORDS:
        yield from _spelt(word, ranks)
    yield from _spaced(WORDS, ranks)
    for couple in product(_SYLLABLES, _SYLLABLES):
        yield from ranks.new(couple)
    yield from _spaced(_SYLLABLES, ranks)
    yield from _spaced(("".join(couple) for couple in product(_SYLLABLES, _SYLLABLES)), ranks)
    for triple in product(_SYLLABLES, _SYLLABLES, _SYLLABLES):
        left, right = _halves(*triple, ranks)
        yield from ranks.new((left, right))
        yield from ranks.new((SPACE + left, right))


def encoded(text: str, ranks: Mapping[Merge, int]) -> list[str]:
    """The text's tokens: the merge of the lowest rank first, the leftmost of equals."""
    parts = list(text)
    while True:
        known = [(ranks[pair], at) for at, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not known:
            return parts
        at = min(known)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def _spaced(words: Iterable[str], ranks: _Ranks) -> Iterator[Merge]:
    for word in words:
        yield from ranks.new((SPACE, word))


def _spelt(word: str, ranks: _Ranks) -> Iterator[Merge]:
    """What is still to be merged until the word is one token."""
    while len(parts := encoded(word, ranks)) > 1:
        yield from ranks.new((parts[0], parts[1]))


def _halves(first: str, second: str, third: str, ranks: Mapping[Merge, int]) -> Merge:
    """How three syllables stand when all couples are merged: the earlier merge comes first."""
    if ranks[first, second] <= ranks[second, third]:
        return first + second, third
    return first, second + third
