"""The lesson's own rules, shown beside the bounds under the name ``lesson``.

They count every parameter once per token and per step, and every layer over the whole
context. Of routed experts only the active ones multiply (the lesson speaks of dense models).
"""

from __future__ import annotations

from catalog.architecture.kv import kv_bytes_per_token
from catalog.architecture.model import Architecture
from catalog.architecture.storage import KvPrecision, Precision
from catalog.architecture.weights import active_parameters, weight_bytes


def lesson_weight_bytes(arch: Architecture, precision: Precision) -> int:
    """Bytes of the weights: N times the bytes of a parameter."""
    return weight_bytes(arch, precision)


def lesson_kv_bytes(arch: Architecture, kv: KvPrecision, batch: int, context: int) -> int:
    """Bytes of the KV cache of ``batch`` streams of ``context`` tokens."""
    return batch * context * kv_bytes_per_token(arch, kv)


def lesson_step_bytes(
    arch: Architecture, precision: Precision, kv: KvPrecision, batch: int, context: int
) -> int:
    """Bytes moved per decode step: all weights, and the cache of every stream."""
    return lesson_weight_bytes(arch, precision) + lesson_kv_bytes(arch, kv, batch, context)


def lesson_prefill_flops(arch: Architecture, prompt: int) -> int:
    """FLOPs of a prompt: 2NP, and 2 L Hq D P^2 for causal attention."""
    pairs = sum(count * mixer.flops_per_key for count, mixer in arch.mixers)
    return 2 * active_parameters(arch) * prompt + pairs * prompt**2 // 2
