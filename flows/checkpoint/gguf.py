"""The GGUF container, version 3: metadata, a table of tensors, their bytes in blocks of 32.

Source: the format's public description (ggml), read 2026-11-29.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flows.checkpoint.values import Storage

ALIGNMENT: Final = 32
_VERSION: Final = 3
_TENSOR_TYPES: Final[Mapping[str, int]] = {"F32": 0, "F16": 1, "Q8_0": 8, "BF16": 30}
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9

Value = str | bool | int | float | Sequence[str] | Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A tensor in a GGUF file: dimensions with the fastest first, as ggml counts them."""

    name: str
    dimensions: tuple[int, ...]
    storage: Storage
    values: int

    @property
    def size(self) -> int:
        """Its bytes without padding."""
        return self.storage.size(self.values)


def padding(size: int) -> int:
    """Zero bytes that follow ``size`` bytes up to the next aligned place."""
    return -size % ALIGNMENT


def header(metadata: Mapping[str, Value], tensors: Sequence[Placed]) -> bytes:
    """Everything in front of the tensors' bytes, padded."""
    parts = [b"GGUF", struct.pack("<IQQ", _VERSION, len(tensors), len(metadata))]
    parts += [_string(key) + _value(value) for key, value in metadata.items()]
    offset = 0
    for tensor in tensors:
        parts.append(_info(tensor, offset))
        offset += tensor.size + padding(tensor.size)
    text = b"".join(parts)
    return text + bytes(padding(len(text)))


def _info(tensor: Placed, offset: int) -> bytes:
    dimensions = tensor.dimensions
    kind = _TENSOR_TYPES[tensor.storage.name]
    return (
        _string(tensor.name)
        + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        + struct.pack("<IQ", kind, offset)
    )


def _value(value: Value) -> bytes:
    match value:
        case bool():
            return struct.pack("<IB", _BOOL, value)
        case int():
            return struct.pack("<II", _UINT32, value)
        case float():
            return struct.pack("<If", _FLOAT32, value)
        case str():
            return struct.pack("<I", _STRING) + _string(value)
    return struct.pack("<I", _ARRAY) + _array(value)


def _array(items: Sequence[str] | Sequence[int]) -> bytes:
    texts = [item for item in items if isinstance(item, str)]
    if texts or not items:
        return struct.pack("<IQ", _STRING, len(texts)) + b"".join(map(_string, texts))
    return struct.pack(f"<IQ{len(items)}i", _INT32, len(items), *items)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded
