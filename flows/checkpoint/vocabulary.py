"""A vocabulary of any size in which every id is a text of its own.

Two special tokens stand at the ids that the config names; the other ids hold, in order, the
256 bytes, so that every text can be written, and what the merges make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from flows.checkpoint.merges import Merge, merges
from flows.errors import UsageError

DEFAULT_BOS: Final = 1
DEFAULT_EOS: Final = 2
_BYTES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Tokens by id as byte-level BPE writes them, merges by rank, and the special ids.

    ``quiet`` are ids that no greedy answer should hold: special tokens, and single bytes that
    are no printable text by themselves. Their rows in the model's tables are zero.
    """

    tokens: tuple[str, ...]
    merges: tuple[Merge, ...]
    special: Mapping[int, str]
    bos: int
    eos: int
    quiet: tuple[int, ...]


def vocabulary(config: Mapping[str, Any], size: int) -> Vocabulary:
    """The vocabulary of ``size`` ids whose special ids are those of ``config``.

    Raises
    ------
    UsageError
        If the special ids do not lie in it, or it is too small for the bytes.
    """
    bos = _ids(config, "bos_token_id", DEFAULT_BOS)
    eos = _ids(config, "eos_token_id", DEFAULT_EOS)
    special = _special(bos, eos)
    room = size - len(special) - _BYTES
    if room < 0 or not all(0 <= token < size for token in special):
        raise UsageError(
            "vocab_size",
            f"{size} ids do not hold {_BYTES} bytes and the special ids {sorted(special)}",
            "Give the model a larger vocabulary, or special ids within it",
        )
    joined = _first_merges(room)
    texts = iter((*byte_texts(), *("".join(pair) for pair in joined)))
    tokens = tuple(special[i] if i in special else next(texts) for i in range(size))
    silent = {text for byte, text in enumerate(byte_texts()) if not 0x20 <= byte < 0x7F}
    return Vocabulary(
        tokens=tokens,
        merges=joined,
        special=special,
        bos=bos[0],
        eos=eos[0],
        quiet=tuple(i for i, text in enumerate(tokens) if i in special or text in silent),
    )


def byte_texts() -> tuple[str, ...]:
    """How byte-level BPE writes each byte: printable Latin-1 as itself, others from U+0100."""
    itself = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(_BYTES, 2 * _BYTES))
    return tuple(chr(byte if byte in itself else next(others)) for byte in range(_BYTES))


@lru_cache(maxsize=4)
def _first_merges(count: int) -> tuple[Merge, ...]:
    return tuple(islice(merges(), count))


def _ids(config: Mapping[str, Any], key: str, default: int) -> Sequence[int]:
    value = config.get(key)
    if value is None:
        return [default]
    ids: list[Any] = value if isinstance(value, list) else [value]
    if not ids or not all(isinstance(each, int) for each in ids):
        raise UsageError("config", f"{key} is {value!r}", "Give one token id or a list of them")
    return ids


def _special(bos: Sequence[int], eos: Sequence[int]) -> dict[int, str]:
    """Names of the special ids; what is both begin and end is called end."""
    named = {token: f"<|special_{token}|>" for token in (*bos, *eos)}
    return named | {bos[0]: "<s>"} | {eos[0]: "</s>"}
