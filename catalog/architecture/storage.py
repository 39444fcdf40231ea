"""Storage schemes for weights and for the KV cache, in bits per stored value with scales.

Sources: AWQ and GPTQ with groups of 128 (4-bit values, a 16-bit scale, AWQ also a 4-bit
zero); DeepSeek's FP8 with one 32-bit scale per 128 x 128 block; OCP MXFP4 (8-bit scale per
32 values); NVFP4 (8-bit scale per 16 values); ggml block layouts for GGUF types.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from catalog.errors import CatalogError

_PLAIN = ("bf16",)
_Q6_K = 6.5625
# A "medium" GGUF keeps half of the attention-value and feed-forward-down matrices in Q6_K.
# That half is 15/104 of the linear weights of Llama-3.1-8B, the model whose file size
# llama.cpp publishes; in other models the share differs a little, so these are not exact.
_MEDIUM_SHARE = 15 / 104


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How weights are stored: bits per parameter by class, scales included.

    ``compute_types`` names the FLOP/s columns of a device that may serve the matrix products,
    narrowest first; the fastest that the device has bounds it. ``experts_only`` schemes
    quantise the routed experts where there are any and leave the other matrices as they were.
    ``floor_bits`` is the least any linear weight takes; ``exact`` says that it is all of them.
    """

    name: str
    linear_bits: float
    compute_types: tuple[str, ...] = _PLAIN
    table_bits: float = 16
    head_bits: float = 16
    vector_bits: float = 16
    floor_bits: float = 0
    experts_only: bool = False

    def __post_init__(self) -> None:
        if not self.floor_bits:
            object.__setattr__(self, "floor_bits", self.linear_bits)

    @property
    def exact(self) -> bool:
        """Whether the bits follow from the format for every model."""
        return self.floor_bits == self.linear_bits


def _gguf(name: str, linear_bits: float, table: float, head: float) -> Precision:
    quantised = linear_bits < 16
    return Precision(
        name=name,
        linear_bits=linear_bits,
        # llama.cpp multiplies quantised blocks as 8-bit integers where the device can.
        compute_types=("int8", "bf16") if quantised else _PLAIN,
        table_bits=table,
        head_bits=head,
        vector_bits=32,
        floor_bits=table,
    )


_WEIGHTS = (
    Precision(name="bfloat16", linear_bits=16),
    Precision(name="float16", linear_bits=16),
    Precision(name="fp8", linear_bits=8, compute_types=("fp8", "bf16")),
    Precision(name="fp8_block", linear_bits=8 + 32 / 128**2, compute_types=("fp8", "bf16")),
    Precision(name="int8", linear_bits=8, compute_types=("int8", "bf16")),
    # OpenVINO multiplies 4-bit weights with activations that it quantises to 8-bit integers.
    Precision(
        name="awq_int4",
        linear_bits=4 + 16 / 128 + 4 / 128,
        compute_types=("int8", "bf16"),
    ),
    Precision(name="gptq_int4", linear_bits=4 + 16 / 128, compute_types=("int8", "bf16")),
    Precision(
        name="mxfp4",
        linear_bits=4 + 8 / 32,
        compute_types=("fp4", "fp8", "bf16"),
        experts_only=True,
    ),
    Precision(name="nvfp4", linear_bits=4 + 8 / 16, compute_types=("fp4", "fp8", "bf16")),
    _gguf("gguf_q4_0", 4.5, 4.5, _Q6_K),
    _gguf("gguf_q4_k_m", 4.5 + _MEDIUM_SHARE * (_Q6_K - 4.5), 4.5, _Q6_K),
    _gguf("gguf_q5_k_m", 5.5 + _MEDIUM_SHARE * (_Q6_K - 5.5), 5.5, _Q6_K),
    _gguf("gguf_q6_k", _Q6_K, _Q6_K, _Q6_K),
    _gguf("gguf_q8_0", 8.5, 8.5, 8.5),
    _gguf("gguf_f16", 16, 16, 16),
    _gguf("gguf_bf16", 16, 16, 16),
)

_WEIGHT_ALIASES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp8_e4m3": "fp8",
    "w8a8_fp8": "fp8",
    "w8a8_int8": "int8",
    "awq": "awq_int4",
    "gptq": "gptq_int4",
    "q4_0": "gguf_q4_0",
    "q4_k_m": "gguf_q4_k_m",
    "q5_k_m": "gguf_q5_k_m",
    "q6_k": "gguf_q6_k",
    "q8_0": "gguf_q8_0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KvPrecision:
    """How the KV cache is stored: bits per value, and one scale per group of values.

    ``group`` 0 is one scale per key or value vector of a head. ``rope_bits`` differs where a
    latent cache keeps its rotary part apart.
    """

    name: str
    value_bits: int
    group: int = 0
    scale_bytes: int = 0
    rope_bits: int | None = None

    def vector_bytes(self, length: int) -> int:
        """Bytes of one key or value vector of ``length`` values."""
        values = -(-length * self.value_bits // 8)
        groups = -(-length // self.group) if self.group else 1
        return values + groups * self.scale_bytes

    def latent_bytes(self, rank: int, rope_dim: int) -> int:
        """Bytes of one token's latent vector and its rotary key."""
        if self.rope_bits is None:
            return self.vector_bytes(rank + rope_dim)
        return self.vector_bytes(rank) + -(-rope_dim * self.rope_bits // 8)


_KV = (
    KvPrecision(name="bfloat16", value_bits=16),
    KvPrecision(name="float16", value_bits=16),
    KvPrecision(name="fp8", value_bits=8),
    KvPrecision(name="fp8_per_token_head", value_bits=8, scale_bytes=4),
    KvPrecision(name="fp8_ds_mla", value_bits=8, group=128, scale_bytes=4, rope_bits=16),
    KvPrecision(name="int8", value_bits=8, scale_bytes=4),
    KvPrecision(name="nvfp4", value_bits=4, group=16, scale_bytes=1),
    KvPrecision(name="q8_0", value_bits=8, group=32, scale_bytes=2),
    KvPrecision(name="q4_0", value_bits=4, group=32, scale_bytes=2),
)

_KV_ALIASES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
}

_BY_NAME = {known.name: known for known in _WEIGHTS}
_KV_BY_NAME = {known.name: known for known in _KV}
_Known = TypeVar("_Known", Precision, KvPrecision)


def precision(name: str) -> Precision:
    """Storage scheme for weights by name or alias; an unknown name is a CatalogError."""
    return _find(name, _BY_NAME, _WEIGHT_ALIASES, "weights precision")


def kv_precision(name: str) -> KvPrecision:
    """Storage scheme for the KV cache by name or alias; an unknown name is a CatalogError."""
    return _find(name, _KV_BY_NAME, _KV_ALIASES, "kv_cache precision")


def weight_precisions() -> tuple[str, ...]:
    """Names of all known weight schemes."""
    return tuple(_BY_NAME)


def kv_precisions() -> tuple[str, ...]:
    """Names of all known KV-cache schemes."""
    return tuple(_KV_BY_NAME)


def _find(
    name: str, known: Mapping[str, _Known], aliases: Mapping[str, str], where: str
) -> _Known:
    plain = name.strip().lower().replace("-", "_")
    found = known.get(aliases.get(plain, plain))
    if found is not None:
        return found
    near = difflib.get_close_matches(plain, [*known, *aliases], n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise CatalogError(
        where, f"unknown name {name!r}", f"{hint}Known: {', '.join(known)}", value=name
    )
