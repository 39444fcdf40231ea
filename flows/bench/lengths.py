"""Token lengths of a cell's requests, drawn from the contract's distributions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from catalog.lengths import Lengths, parse_lengths
from flows.errors import UsageError

_TAIL_SIGMAS = 4.0


def flag_lengths(flag: str, text: str) -> Lengths:
    """The distribution that a flag's text describes.

    An unbounded form without a maximum (``normal:1024:64``) is cut four standard deviations
    above its centre: one value in 30,000.
    """
    values = _from_file(flag, text) if text.startswith("file:") else None
    try:
        return parse_lengths(_cut(text), values)
    except ValueError as error:
        raise UsageError(flag, str(error), "") from None


def _cut(text: str) -> str:
    kind, *numbers = text.strip().split(":")
    if kind not in ("normal", "lognormal") or len(numbers) != 2:
        return text
    try:
        centre, spread = (float(number) for number in numbers)
        reach = _TAIL_SIGMAS * spread
        most = centre + reach if kind == "normal" else centre * math.exp(reach)
        return f"{text}:{math.ceil(most)}"
    except (ValueError, OverflowError):
        return text


def _from_file(flag: str, text: str) -> tuple[int, ...]:
    path = Path(text.removeprefix("file:"))
    try:
        return tuple(int(line) for line in path.read_text().split())
    except OSError as error:
        seen = error.strerror or type(error).__name__
        raise UsageError(f"{flag} {path}", seen, "Give a readable file") from None
    except ValueError as error:
        raise UsageError(
            f"{flag} {path}", str(error), "Put one whole number of tokens per line"
        ) from None


def sample(
    lengths: Lengths, count: int, *, spread_over: int, rng: np.random.Generator
) -> list[int]:
    """``count`` lengths of which the first ``spread_over`` cover the whole distribution.

    Warm-up has to meet the shapes that are measured after it, so its lengths are one per
    equal share of the distribution, shuffled; the others are drawn independently.
    """
    if lengths.kind == "fixed":
        return [lengths.maximum] * count
    covering = (rng.permutation(spread_over) + 0.5) / max(spread_over, 1)
    shares = np.concatenate((covering, rng.random(max(count - spread_over, 0))))[:count]
    return [lengths.quantile(share) for share in shares.tolist()]
