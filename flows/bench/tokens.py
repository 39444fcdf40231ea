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
    if path is None:
        return None
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(_FLAG, f"{file} is no file", "Give the model's tokenizer.json")
    text = file.read_text(encoding="utf-8")
    if '"model"' not in text:
        raise UsageError(_FLAG, f"{file} is none", "Give the model's tokenizer.json")
    from tokenizers import Tokenizer  # noqa: PLC0415  (most cells need none)

    tokenizer = Tokenizer.from_str(text)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
