"""Floating-point operations of prefill and decode, at least (a product and a sum are two)."""

from __future__ import annotations

from catalog.architecture.model import Architecture
from catalog.architecture.weights import touched


def prefill_flops(
    arch: Architecture, prompt: int, cached: int = 0, *, head: bool = True
) -> int:
    """FLOPs to process ``prompt`` new tokens after ``cached`` ones, at least.

    2 (N - 2Vd - norms) P with the active experts only, 2Vd for the one token whose logits
    are needed, and causal attention of each layer within its window. ``head=False`` is a
    chunk that is not the last; chunks then sum to the whole exactly. Recurrent layers count
    their matrices alone: how their state is updated is left to the kernel.
    """
    logits = 2 * arch.vocabulary * arch.width if head else 0
    return 2 * _body(arch) * prompt + logits + _attention(arch, prompt, cached)


def decode_flops(arch: Architecture, context: int) -> int:
    """FLOPs of one stream's next token that looks at ``context`` tokens, at least."""
    attention = sum(n * mixer.flops_per_key * mixer.keys(context) for n, mixer in arch.mixers)
    return 2 * (_body(arch) + arch.vocabulary * arch.width) + attention


def _body(arch: Architecture) -> int:
    return round(touched(arch, 1, "fewest").body_matrices)


def _attention(arch: Architecture, prompt: int, cached: int) -> int:
    return sum(
        count * mixer.flops_per_key * _pairs(prompt, cached, mixer.keys(cached + prompt))
        for count, mixer in arch.mixers
    )


def _pairs(prompt: int, cached: int, span: int) -> int:
    """Pairs of a new token and one that it looks at: the sum of min(position, span)."""
    return _triangle(cached + prompt, span) - _triangle(cached, span)


def _triangle(length: int, span: int) -> int:
    grown = min(length, span)
    return grown * (grown + 1) // 2 + (length - grown) * span
