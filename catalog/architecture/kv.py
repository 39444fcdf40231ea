"""The KV cache and recurrent state: what a stream occupies, and what a step moves.

Recurrent state (linear attention, Mamba) is inside the read, write and resident figures;
``state_bytes_per_stream`` names it alone.
"""

from __future__ import annotations

from typing import Literal

from catalog.architecture.mixers import Mixer
from catalog.architecture.model import Architecture
from catalog.architecture.storage import KvPrecision

Rule = Literal["bound", "engine"]


def kv_bytes_per_token(arch: Architecture, kv: KvPrecision) -> int:
    """Cached bytes per token over all layers, as if every layer saw the whole context."""
    return sum(count * mixer.kv_bytes(kv, 1) for count, mixer in arch.mixers)


def state_bytes_per_stream(arch: Architecture, k: int = 1) -> int:
    """Bytes of recurrent state of one stream on one of ``k`` ranks."""
    return sum(count * mixer.state_bytes(k) for count, mixer in arch.mixers)


def kv_read_bytes(arch: Architecture, kv: KvPrecision, context: int, k: int = 1) -> int:
    """Bytes that one stream's next token reads, all ``k`` ranks together.

    Windows are honoured; KV heads are repeated beyond their number; a latent cache is read
    whole by every rank; recurrent state is read once.
    """
    return k * sum(
        count * (mixer.kv_bytes(kv, k) * mixer.keys(context) + mixer.state_bytes(k))
        for count, mixer in arch.mixers
    )


def kv_write_bytes(arch: Architecture, kv: KvPrecision, k: int = 1) -> int:
    """Bytes that one stream's next token writes, all ``k`` ranks together."""
    return k * sum(
        count * (mixer.kv_bytes(kv, k) + mixer.state_bytes(k)) for count, mixer in arch.mixers
    )


def kv_resident_bytes(
    arch: Architecture,
    kv: KvPrecision,
    context: int,
    k: int = 1,
    *,
    block_tokens: int = 1,
    rule: Rule = "bound",
    batched_tokens: int = 2048,
) -> int:
    """Bytes that one stream of ``context`` tokens occupies on one of ``k`` ranks.

    ``bound``: whole blocks of the tokens that are still looked at. ``engine``: what vLLM
    sets aside, where a window of w keeps min(w - 1 + batched_tokens, context) tokens and one
    block more, but never more than the whole context.
    """
    return sum(
        count
        * (
            mixer.kv_bytes(kv, k)
            * block_tokens
            * _blocks(mixer, context, block_tokens, rule, batched_tokens)
            + mixer.state_bytes(k)
        )
        for count, mixer in arch.mixers
    )


def _blocks(
    mixer: Mixer, context: int, block_tokens: int, rule: Rule, batched_tokens: int
) -> int:
    seen = mixer.keys(context)
    if rule == "bound" or seen == context:
        return -(-seen // block_tokens)
    held = min(seen - 1 + batched_tokens, context)
    return min(-(-held // block_tokens) + 1, -(-context // block_tokens))
