"""The line through measured all-reduces: a start-up cost and a bandwidth.

    t(M) = α + 2(k − 1)/k · M / B

by least squares of the relative differences, so that α is seen by the short messages and B by
the long ones (absolute differences would be those of the longest alone). α is never negative:
where the line's would be, it is 0 and B is fitted alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from catalog.links import ring_share


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceFit:
    """α in s, bandwidth in B/s, and how far the points lie from the line, relatively."""

    alpha_s: float
    bandwidth: float
    residual: float
    worst_residual: float


def fit_all_reduce(points: Sequence[tuple[float, float]], devices: int) -> AllReduceFit | None:
    """The line through points of bytes and seconds; None where they do not tell one.

    Two message sizes are the least. Times that do not grow with the message tell no bandwidth.
    """
    if len({size for size, _ in points}) < 2:
        return None
    share = ring_share(devices)
    moved = [(share * size, seconds) for size, seconds in points]
    line = _line(moved)
    if line is None:
        return None
    alpha_s, per_byte = line
    off = [(alpha_s + each * per_byte) / seconds - 1 for each, seconds in moved]
    return AllReduceFit(
        alpha_s=alpha_s,
        bandwidth=1 / per_byte,
        residual=sqrt(sum(each**2 for each in off) / len(off)),
        worst_residual=max(map(abs, off)),
    )


def _line(moved: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Least squares of (α + x·c)/t − 1 for α ≥ 0, c > 0: the normal equations of two unknowns.

    Bytes are scaled by the largest, so that the equations are well conditioned.
    """
    scale = max(each for each, _ in moved)
    rows = [(1 / seconds, each / scale / seconds) for each, seconds in moved]
    aa = sum(a * a for a, _ in rows)
    ab = sum(a * b for a, b in rows)
    bb = sum(b * b for _, b in rows)
    a1, b1 = sum(a for a, _ in rows), sum(b for _, b in rows)
    determinant = aa * bb - ab * ab
    alpha = (bb * a1 - ab * b1) / determinant if determinant > 0 else -1.0
    slope = (aa * b1 - ab * a1) / determinant if determinant > 0 else 0.0
    if alpha < 0:
        alpha, slope = 0.0, b1 / bb
    return (alpha, slope / scale) if slope > 0 else None
