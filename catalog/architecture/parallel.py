"""Tensor parallelism: whether a model can be dealt out, and what its ranks exchange."""

from __future__ import annotations

from catalog.architecture.mixers import Attention
from catalog.architecture.mlps import Dense
from catalog.architecture.model import Architecture


def heads_divide(arch: Architecture, k: int) -> str | None:
    """Why ``k`` ranks cannot share this model evenly; None where they can."""
    for _, mixer in arch.mixers:
        for name, number in mixer.split().items():
            if number % k:
                return f"{number} {name} do not divide by {k}"
        if isinstance(mixer, Attention) and mixer.kv_heads % k and k % mixer.kv_heads:
            return f"{mixer.kv_heads} KV heads neither divide by {k} nor repeat evenly"
    for _, mlp in arch.mlps:
        what = "feed-forward" if isinstance(mlp, Dense) else "expert"
        if mlp.hidden % k:
            return f"{what} width {mlp.hidden} does not divide by {k}"
    return None


def all_reduces_per_step(arch: Architecture) -> int:
    """All-reduces of Megatron tensor parallelism per step: one per mixer and per MLP."""
    return sum(count for count, _ in arch.mixers) + sum(count for count, _ in arch.mlps)


def all_reduce_bytes(arch: Architecture, batch: int, bytes_per_value: int = 2) -> int:
    """Bytes of one all-reduce: the activations of ``batch`` tokens."""
    return batch * arch.width * bytes_per_value
