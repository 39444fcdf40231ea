"""Files in the safetensors format, written as a stream, in shards where they are large.

The format: the header's length (8 bytes, little-endian), a JSON header with the type, shape
and place of each tensor, the tensors' bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flows.checkpoint.tensors import Tensor
from flows.checkpoint.values import Storage

SHARD_BYTES: Final = 5 * 10**9
_ALIGNMENT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One file of a checkpoint and the tensors in it."""

    name: str
    tensors: tuple[Tensor, ...]


def shards(
    tensors: Sequence[Tensor], storage: Storage, limit: int = SHARD_BYTES
) -> tuple[Shard, ...]:
    """The tensors in files of at most ``limit`` bytes each (a larger tensor has its own)."""
    groups: list[list[Tensor]] = [[]]
    held = 0
    for tensor in tensors:
        size = storage.size(tensor.values)
        if groups[-1] and held + size > limit:
            groups.append([])
            held = 0
        groups[-1].append(tensor)
        held += size
    return tuple(
        Shard(name=_name(number, len(groups)), tensors=tuple(group))
        for number, group in enumerate(groups, start=1)
    )


def index_json(files: Sequence[Shard], storage: Storage) -> Mapping[str, object]:
    """The content of model.safetensors.index.json: which shard holds each tensor."""
    total = sum(storage.size(each.values) for file in files for each in file.tensors)
    return {
        "metadata": {"total_size": total},
        "weight_map": {each.name: file.name for file in files for each in file.tensors},
    }


def header(tensors: Sequence[Tensor], storage: Storage, metadata: Mapping[str, str]) -> bytes:
    """Everything in front of the tensors' bytes."""
    entries: dict[str, object] = {"__metadata__": dict(metadata)}
    for tensor, begin, end in _places(tensors, storage):
        entries[tensor.name] = {
            "dtype": storage.name,
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(_ALIGNMENT, "little") + text


def _places(tensors: Sequence[Tensor], storage: Storage) -> Iterator[tuple[Tensor, int, int]]:
    begin = 0
    for tensor in tensors:
        end = begin + storage.size(tensor.values)
        yield tensor, begin, end
        begin = end


def _name(number: int, count: int) -> str:
    if count == 1:
        return "model.safetensors"
    return f"model-{number:05d}-of-{count:05d}.safetensors"
