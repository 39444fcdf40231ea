"""What tensor-parallel ranks spend on all-reduces over a link."""

from __future__ import annotations

from catalog.architecture import all_reduce_bytes
from catalog.schema import Link
from catalog.schema.device import EffectiveLink
from catalog.sums import Arithmetic


def ring_share(k: int) -> float:
    """Bytes that each of ``k`` ranks sends per byte of a ring all-reduce: 2(k−1)/k."""
    return 2 * (k - 1) / k


def bound_communication_s(model: Arithmetic, link: Link, k: int, tokens: int) -> float:
    """Seconds of a step's all-reduces over ``tokens`` tokens with no start-up cost at all."""
    moved = ring_share(k) * all_reduce_bytes(model.arch, tokens)
    return model.all_reduces * moved / link.per_direction.value


def effective_row(link: Link, k: int) -> EffectiveLink | None:
    """Measured all-reduce for ``k`` ranks, else that of the most ranks below it."""
    rows = [row for row in link.effective if row.devices <= k]
    return max(rows, key=lambda row: row.devices, default=None)


def assumed_communication_s(model: Arithmetic, link: Link, k: int, tokens: int) -> float | None:
    """The same with start-up cost and effective bandwidth; None where nothing is measured."""
    row = effective_row(link, k)
    if row is None:
        return None
    moved = ring_share(k) * all_reduce_bytes(model.arch, tokens)
    each = row.alpha.value + moved / row.bandwidth.value
    return model.all_reduces * each


def lesson_communication_s(model: Arithmetic, link: Link, tokens: int) -> float | None:
    """The lesson's rule: alpha and bytes over both directions' bandwidth, for any degree."""
    if link.lesson is None:
        return None
    each = link.lesson.alpha.value + (
        all_reduce_bytes(model.arch, tokens) / link.lesson.bandwidth.value
    )
    return model.all_reduces * each
