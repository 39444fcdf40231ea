"""Parameters of a model, and the bytes that hold them and that a decode step reads."""

from __future__ import annotations

import math
from typing import Literal

from catalog.architecture.mlps import Touched
from catalog.architecture.model import Architecture
from catalog.architecture.storage import Precision
from catalog.architecture.tally import Tally

Mode = Literal["bound", "prediction", "lesson"]

_TOUCHED: dict[Mode, Touched] = {"bound": "fewest", "prediction": "expected", "lesson": "all"}


def parameters(arch: Architecture) -> int:
    """All parameters of the model, without multi-token-prediction layers."""
    return round(arch.whole.total)


def active_parameters(arch: Architecture) -> int:
    """Parameters that serve one token: every table, and ``top_k`` experts of each layer."""
    return round(touched(arch, 1, "fewest").total)


def embedding_parameters(arch: Architecture) -> int:
    """Parameters of the input embedding (the output head too, where they are tied)."""
    return round(arch.whole.embedding)


def head_parameters(arch: Architecture) -> int:
    """Parameters of an output head of its own: 0 where it is tied to the embedding."""
    return round(arch.whole.head)


def norm_parameters(arch: Architecture) -> int:
    """Scale vectors of all normalisations, those of queries, keys and latents included."""
    return round(arch.whole.norms)


def mtp_parameters(arch: Architecture) -> int:
    """Parameters of multi-token-prediction layers, loaded only when they speculate."""
    return round(arch.mtp.total)


def touched(arch: Architecture, batch: int, rule: Touched) -> Tally:
    """Parameters that a step of ``batch`` tokens uses, both tables included."""
    whole = arch.whole
    if not arch.routed:
        return whole
    used = Tally(norms=whole.norms, embedding=whole.embedding, head=whole.head)
    for count, mixer in arch.mixers:
        part = mixer.tally()
        used += Tally(linear=part.linear, vectors=part.vectors) * count
    for count, mlp in arch.mlps:
        used += mlp.touched(batch, rule) * count
    return used


def weight_bytes(
    arch: Architecture, precision: Precision, *, mtp: bool = False, floor: bool = False
) -> int:
    """Bytes of the whole checkpoint as it lies in memory.

    ``mtp`` adds multi-token-prediction layers; ``floor`` counts every linear weight at the
    least bits that the scheme gives any (only inexact GGUF mixtures differ).
    """
    parts = arch.whole + arch.mtp if mtp else arch.whole
    return _weigh(arch, parts, precision, floor=floor)


def weight_bytes_per_rank(
    arch: Architecture,
    precision: Precision,
    k: int,
    *,
    mtp: bool = False,
    floor: bool = False,
) -> int:
    """Weight bytes on each of ``k`` tensor-parallel ranks, at best.

    A k-th of the checkpoint, and K and V rows again where there are fewer KV heads than
    ranks. Engines also repeat norms, routers and latent projections on each rank.
    """
    again = Tally(linear=sum(n * mixer.replicated(k) for n, mixer in arch.mixers))
    whole = weight_bytes(arch, precision, mtp=mtp, floor=floor)
    return -(-(whole + _weigh(arch, again, precision, floor=floor)) // k)


def read_bytes_per_step(
    arch: Architecture, precision: Precision, batch: int, mode: Mode
) -> int:
    """Weight bytes that one decode step of ``batch`` streams reads, all ranks together.

    ``bound``: without an untied input embedding (its rows are gathered), the fewest experts
    that the tokens can share, linear weights at their least bits. ``prediction``: the
    expected distinct experts, E(1 - (1 - top_k/E)^B) per layer. ``lesson``: all parameters.
    """
    if mode == "lesson":
        return weight_bytes(arch, precision)
    used = touched(arch, batch, _TOUCHED[mode])
    if not arch.tied:
        used += Tally(embedding=-used.embedding)
    return _weigh(arch, used, precision, floor=mode == "bound")


def expert_share(arch: Architecture, batch: int, mode: Mode) -> float:
    """Share of all routed-expert parameters that a step of ``batch`` streams reads."""
    if not arch.routed:
        return 1.0
    return touched(arch, batch, _TOUCHED[mode]).experts / arch.whole.experts


def _weigh(arch: Architecture, parts: Tally, precision: Precision, *, floor: bool) -> int:
    quantised = precision.floor_bits if floor else precision.linear_bits
    linear = precision.table_bits if precision.experts_only and arch.routed else quantised
    table = precision.head_bits if arch.tied else precision.table_bits
    bits = (
        parts.linear * linear
        + parts.experts * quantised
        + (parts.routers + parts.norms + parts.vectors) * precision.vector_bits
        + parts.embedding * table
        + parts.head * precision.head_bits
    )
    return math.ceil(bits / 8)
