"""Architecture arithmetic: parameters, bytes and FLOPs of a model from its config.json.

Pure and cheap to import: bytes, FLOPs and parameters as plain numbers. ``k`` is the degree
of tensor parallelism throughout.
"""

from catalog.architecture.flops import decode_flops, prefill_flops
from catalog.architecture.kv import (
    kv_bytes_per_token,
    kv_read_bytes,
    kv_resident_bytes,
    kv_write_bytes,
    state_bytes_per_stream,
)
from catalog.architecture.lesson import (
    lesson_kv_bytes,
    lesson_prefill_flops,
    lesson_step_bytes,
    lesson_weight_bytes,
)
from catalog.architecture.model import Architecture, Layer, UnknownArchitecture
from catalog.architecture.parallel import all_reduce_bytes, all_reduces_per_step, heads_divide
from catalog.architecture.read import known_families, read_config
from catalog.architecture.storage import (
    KvPrecision,
    Precision,
    kv_precision,
    kv_precisions,
    precision,
    weight_precisions,
)
from catalog.architecture.weights import (
    active_parameters,
    embedding_parameters,
    expert_share,
    head_parameters,
    mtp_parameters,
    norm_parameters,
    parameters,
    read_bytes_per_step,
    weight_bytes,
    weight_bytes_per_rank,
)

__all__ = [
    "Architecture",
    "KvPrecision",
    "Layer",
    "Precision",
    "UnknownArchitecture",
    "active_parameters",
    "all_reduce_bytes",
    "all_reduces_per_step",
    "decode_flops",
    "embedding_parameters",
    "expert_share",
    "head_parameters",
    "heads_divide",
    "known_families",
    "kv_bytes_per_token",
    "kv_precision",
    "kv_precisions",
    "kv_read_bytes",
    "kv_resident_bytes",
    "kv_write_bytes",
    "lesson_kv_bytes",
    "lesson_prefill_flops",
    "lesson_step_bytes",
    "lesson_weight_bytes",
    "mtp_parameters",
    "norm_parameters",
    "parameters",
    "precision",
    "prefill_flops",
    "read_bytes_per_step",
    "read_config",
    "state_bytes_per_stream",
    "weight_bytes",
    "weight_bytes_per_rank",
    "weight_precisions",
]
