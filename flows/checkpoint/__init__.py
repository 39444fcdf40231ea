"""Where a server's weights come from: the hub, a path of the user's, or a dummy made here."""

from flows.checkpoint.dummy import DummyCheckpoint, make_dummy
from flows.checkpoint.hub import HubCheckpoint, hub_checkpoint, resolved_revision
from flows.checkpoint.path import PathCheckpoint, path_checkpoint
from flows.checkpoint.recipe import Format

__all__ = [
    "DummyCheckpoint",
    "Format",
    "HubCheckpoint",
    "PathCheckpoint",
    "hub_checkpoint",
    "make_dummy",
    "path_checkpoint",
    "resolved_revision",
]
