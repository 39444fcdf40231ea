"""What a checkpoint whose bytes are known exactly occupies, and what a step reads of it."""

from __future__ import annotations

import math

from catalog.architecture.checkpoint.read import CheckpointBytes
from catalog.architecture.model import Architecture
from catalog.architecture.weights import Mode, expert_share


def checkpoint_weight_bytes(arch: Architecture, checkpoint: CheckpointBytes, k: int = 1) -> int:
    """Bytes on each of ``k`` ranks, at best: a k-th of what a text-only server loads.

    A tied head that the file stores a second time is held once.
    """
    twice = min(checkpoint.head, checkpoint.embedding) if arch.tied else 0
    return -(-(checkpoint.total - checkpoint.extra - twice) // k)


def checkpoint_read_bytes(
    arch: Architecture, checkpoint: CheckpointBytes, batch: int, mode: Mode
) -> int:
    """Weight bytes that a decode step of ``batch`` streams reads, all ranks together.

    The same rules as ``read_bytes_per_step``, on the header's bytes: without the input
    embedding where there is an output head of its own, and with the share of the experts
    that the mode says. ``lesson`` reads all that is loaded.
    """
    if mode == "lesson":
        return checkpoint_weight_bytes(arch, checkpoint)
    table = checkpoint.head or checkpoint.embedding
    experts = math.floor(checkpoint.experts * expert_share(arch, batch, mode))
    return table + checkpoint.norms + checkpoint.other + experts
