"""Token-length distributions as a contract states them.

``1024`` · ``normal:1024:64:2048`` (mean, sd, maximum) · ``uniform:256:2048`` ·
``lognormal:1024:0.5:8192`` (median, sigma of the logarithm, maximum) · ``file:PATH``
(one length per line). Values are whole tokens, at least 1. A distribution without a maximum
must be truncated in the file: no memory holds an unbounded prompt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Literal

Kind = Literal["fixed", "normal", "uniform", "lognormal", "empirical"]
_STANDARD = NormalDist()
_STEPS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """A distribution of token counts between 1 and ``maximum``."""

    kind: Kind
    text: str
    maximum: int
    minimum: int = 1
    centre: float = 0.0
    spread: float = 0.0
    values: tuple[int, ...] = ()

    def quantile(self, share: float) -> int:
        """The length that ``share`` of requests do not exceed, in tokens (0 ≤ share ≤ 1)."""
        if self.kind == "fixed":
            return self.maximum
        if self.kind == "empirical":
            rank = max(1, math.ceil(share * len(self.values)))
            return self.values[rank - 1]
        return self._rounded(self._continuous(min(max(share, 0.0), 1.0)))

    def mean(self) -> float:
        """Expected length in tokens, after truncation and rounding."""
        if self.kind == "fixed":
            return float(self.maximum)
        if self.kind == "empirical":
            return fmean(self.values)
        return fmean(self.quantile((step + 0.5) / _STEPS) for step in range(_STEPS))

    def _rounded(self, length: float) -> int:
        return min(max(round(length), self.minimum), self.maximum)

    def _continuous(self, share: float) -> float:
        if self.kind == "uniform":
            return self.minimum - 0.5 + share * (self.maximum - self.minimum + 1)
        low, high = self._cut()
        inside = low + share * (high - low)
        deviate = _STANDARD.inv_cdf(min(max(inside, 1e-12), 1 - 1e-12))
        if self.kind == "normal":
            return self.centre + self.spread * deviate
        return self.centre * math.exp(self.spread * deviate)

    def _cut(self) -> tuple[float, float]:
        return self._share_below(0.5), self._share_below(self.maximum + 0.5)

    def _share_below(self, length: float) -> float:
        if self.kind == "normal":
            return _STANDARD.cdf((length - self.centre) / self.spread)
        return _STANDARD.cdf(math.log(length / self.centre) / self.spread)


def parse_lengths(text: object, values: tuple[int, ...] | None = None) -> Lengths:
    """The distribution that ``text`` describes; ``values`` are those of a ``file:`` form.

    Raises
    ------
    ValueError
        With the form that was expected.
    """
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise ValueError(f"{text!r} is not a length; write 1024 or normal:1024:64:2048")
    if isinstance(text, int) or text.strip().isdigit():
        tokens = _positive(int(text), str(text))
        return Lengths(kind="fixed", text=str(text), maximum=tokens, minimum=tokens)
    kind, _, rest = text.strip().partition(":")
    if kind == "file":
        return _empirical(text, values)
    parts = rest.split(":") if rest else []
    if kind == "uniform":
        return _uniform(text, parts)
    if kind in ("normal", "lognormal"):
        return _truncated(text, "normal" if kind == "normal" else "lognormal", parts)
    raise ValueError(
        f"{text!r} is not a length distribution; use 1024, normal:MEAN:SD:MAX, "
        "uniform:MIN:MAX, lognormal:MEDIAN:SIGMA:MAX or file:PATH"
    )


def _empirical(text: str, values: tuple[int, ...] | None) -> Lengths:
    if not values:
        raise ValueError(f"{text!r} gave no lengths; put one whole number of tokens per line")
    ordered = tuple(sorted(_positive(value, text) for value in values))
    return Lengths(
        kind="empirical", text=text, minimum=ordered[0], maximum=ordered[-1], values=ordered
    )


def _uniform(text: str, parts: list[str]) -> Lengths:
    if len(parts) != 2:
        raise ValueError(f"{text!r} needs two bounds, as in uniform:256:2048")
    low, high = (_positive(_whole(part, text), text) for part in parts)
    if low > high:
        raise ValueError(
            f"{text!r} has its bounds the wrong way round; write the smaller first"
        )
    return Lengths(kind="uniform", text=text, minimum=low, maximum=high)


def _truncated(text: str, kind: Literal["normal", "lognormal"], parts: list[str]) -> Lengths:
    if len(parts) == 2:
        raise ValueError(
            f"{text!r} has no maximum; truncate it, as in {text}:4096: "
            "no memory holds an unbounded length"
        )
    if len(parts) != 3:
        raise ValueError(f"{text!r} needs three numbers, as in {kind}:1024:64:2048")
    centre, spread = _real(parts[0], text), _real(parts[1], text)
    maximum = _positive(_whole(parts[2], text), text)
    if spread == 0 or centre < 1 or maximum < centre:
        raise ValueError(
            f"{text!r} needs a centre of at least 1, a spread above 0 "
            "and a maximum above the centre"
        )
    return Lengths(kind=kind, text=text, maximum=maximum, centre=centre, spread=spread)


def _whole(part: str, text: str) -> int:
    if not part.strip().isdigit():
        raise ValueError(f"{part!r} in {text!r} is not a whole number of tokens")
    return int(part)


def _real(part: str, text: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{part!r} in {text!r} is not a number of tokens")
    return number


def _positive(tokens: int, text: str) -> int:
    if tokens < 1:
        raise ValueError(f"{text!r} has a length below one token")
    return tokens
