"""Tensor sizes of a safetensors file or of the shards that an index names."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from catalog.errors import CatalogError

_LARGEST_HEADER = 8 * 2**20  # an unsharded model of 36,000 tensors takes 4.4 MB
_LARGEST_INDEX = 32 * 2**20
_PREFIX_BYTES = 8
_AGAIN = "Download the file again"
_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
}  # fmt: skip


def file_tensors(path: Path) -> dict[str, int]:
    """Bytes of each tensor in one file; a damaged or truncated file is a CatalogError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_PREFIX_BYTES), "little")
        if size < _PREFIX_BYTES or length > min(size - _PREFIX_BYTES, _LARGEST_HEADER):
            raise CatalogError(
                str(path),
                f"a header of {length} bytes in a file of {size} (at most {_LARGEST_HEADER})",
                "It is not a whole safetensors file",
            )
        header = _object(path, file.read(length))
    header.pop("__metadata__", None)
    tensors = {name: _tensor_bytes(path, name, entry) for name, entry in header.items()}
    held = size - _PREFIX_BYTES - length
    if sum(tensors.values()) != held:
        raise CatalogError(
            str(path), f"tensors of {sum(tensors.values())} bytes, data of {held}", _AGAIN
        )
    return tensors


def indexed_tensors(index: Path) -> dict[str, int]:
    """Bytes of each tensor in all shards of a ``*.safetensors.index.json``."""
    if index.stat().st_size > _LARGEST_INDEX:
        raise CatalogError(str(index), f"more than {_LARGEST_INDEX} bytes", "Not an index")
    weight_map = _object(index, index.read_bytes()).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CatalogError(str(index), "no weight_map", "Give the index of the checkpoint")
    tensors: dict[str, int] = {}
    for shard in sorted({str(name) for name in weight_map.values()}):
        path = index.parent / shard
        if path.name != shard or not path.is_file():
            raise CatalogError(str(index), f"no shard {shard!r} beside it", _AGAIN)
        tensors.update(file_tensors(path))
    missing = weight_map.keys() - tensors.keys()
    if missing:
        raise CatalogError(
            str(index), f"{len(missing)} tensors in no shard, as {min(missing)!r}", _AGAIN
        )
    return {name: tensors[name] for name in weight_map}


def _object(path: Path, text: bytes) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CatalogError(str(path), "its header is not JSON", _AGAIN) from error
    if not isinstance(parsed, dict):
        raise CatalogError(str(path), "its header is not a JSON object", _AGAIN)
    return parsed


def _tensor_bytes(path: Path, name: str, entry: object) -> int:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
            held = end - begin
            if 0 <= begin <= end and _fits(dtype, shape, held):
                return held
    raise CatalogError(str(path), f"tensor {name[:80]!r} contradicts itself", _AGAIN)


def _fits(dtype: str, shape: Sequence[object], held: int) -> bool:
    """Whether the offsets hold the shape; a type newer than this table is taken on trust."""
    if dtype not in _BITS:
        return True
    lengths = [length for length in shape if isinstance(length, int) and length >= 0]
    if len(lengths) != len(shape):
        return False
    return math.prod(lengths) * _BITS[dtype] == held * 8
