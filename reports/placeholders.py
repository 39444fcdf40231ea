"""Words that stand where somebody meant to write something later."""

from __future__ import annotations

import re
from typing import Final

_FORMS: Final = """
    todo tbd tba tbc fixme xxx name role title by who me someone somebody statement reason
    waiver
    foo bar baz test testing dummy placeholder example sample lorem ipsum none null nil na n/a
    unknown unnamed anonymous user username yourname asdf qwerty abc blah ok
"""
_GRAMMAR: Final = "your the a an my full first last and of i here this is to be"
_HOLLOW: Final = frozenset(f"{_FORMS} {_GRAMMAR}".split())
_GAP = re.compile(  # an address in brackets is none
    r"<(?![^\s<>@]+@[^\s<>@]+>)[^>]*>|\{[^}]*\}|\[[^\]]*\]|\$\w+"
)
_WORD = re.compile(r"[^\W\d_](?:[\w'’./-]*[^\W_])?")


def unfilled(text: str, *, words: int = 1) -> str | None:
    """Why a text cannot stand for what a person has to say; None where it can.

    ``words`` is how many words it needs that are neither placeholders nor only grammar.
    """
    if not text.strip():
        return "it is empty"
    if any(not character.isprintable() for character in text):
        return "it holds control characters"
    if _GAP.search(text):
        return f"{text!r} still holds a gap to fill in"
    said = [word for word in _WORD.findall(text.casefold()) if not _is_hollow(word)]
    if not said:
        return f"{text!r} is a placeholder"
    if len(said) < words:
        return f"{text!r} says too little"
    return None


def _is_hollow(word: str) -> bool:
    return word in _HOLLOW or (word.isascii() and len(set(word)) == 1)
