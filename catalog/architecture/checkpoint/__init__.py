"""Exact weight bytes of a checkpoint on disk, from its headers alone (no tensor is read)."""

from catalog.architecture.checkpoint.read import CheckpointBytes, read_checkpoint
from catalog.architecture.checkpoint.traffic import (
    checkpoint_read_bytes,
    checkpoint_weight_bytes,
)

__all__ = [
    "CheckpointBytes",
    "checkpoint_read_bytes",
    "checkpoint_weight_bytes",
    "read_checkpoint",
]
