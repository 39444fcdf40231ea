"""Counting tokens with the user's own tokenizer file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flows.errors import UsageError

_FLAG = "--tokenizer"


def token_count(path: Path | None) -> Callable[[str], int] | None:
    """A function from text to its number of tokens, without special ones; None without file.

    ``path`` is a ``tokenizer.json`` or the folder of a model that holds one.
    """
    description = tokenizer_text(path)
    if description is None:
        return None
    from tokenizers import Tokenizer  # noqa: PLC0415  (most cells need none)

    tokenizer = Tokenizer.from_str(description)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def tokenizer_text(path: Path | None) -> str | None:
    """The tokenizer's description; raises UsageError where the file cannot be one."""
    if path is None:
        return None
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(_FLAG, f"{file} is no file", "Give the model's tokenizer.json")
    text = file.read_text(encoding="utf-8")
    if not text.startswith("{") or '"model"' not in text:
        raise UsageError(_FLAG, f"{file} is no tokenizer", "Give the model's tokenizer.json")
    return text
