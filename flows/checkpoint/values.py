"""Random weights that every storage type holds exactly.

A weight is a whole number from -127 to 127 times a power of two, so BF16, F16 and Q8_0 hold
the same values to the last bit: engines that disagree do not disagree about the weights. The
numbers are the bytes of a PCG64 stream, whose output is the same on every machine and in every
release of NumPy.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from flows.checkpoint.tensors import Tensor

Codes = NDArray[np.int8]

CHUNK_VALUES: Final = 1 << 20
BLOCK: Final = 32  # values that share a scale in Q8_0
_DRAWN_TOGETHER: Final = 8  # bytes of one draw
# Root mean square of a byte read as a signed number, -128 taken as 0.
_CODE_DEVIATION: Final = math.sqrt(2 * sum(code**2 for code in range(128)) / 256)
_Q8_0: Final = np.dtype([("scale", "<f2"), ("codes", "i1", (BLOCK,))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """How the numbers of a tensor are stored: ``bytes_of`` codes and their power of two."""

    name: str
    bytes_per_block: int
    block: int
    bytes_of: Callable[[Codes, float], bytes | memoryview]

    def size(self, values: int) -> int:
        """Bytes that hold this many values."""
        return values // self.block * self.bytes_per_block


def scale(deviation: float) -> float:
    """The power of two nearest to the one that gives codes this standard deviation."""
    return float(2.0 ** round(math.log2(deviation / _CODE_DEVIATION)))


def chunks(
    tensor: Tensor, seed: int, quiet: Sequence[int] = (), rows_together: int = 1
) -> Iterator[Codes]:
    """The tensor's codes in order, some rows at a time, always ``rows_together`` of them.

    Rows of a table whose numbers are in ``quiet`` are zero.
    """
    bits = np.random.PCG64(_tensor_seed(tensor.name, seed))
    rows = tensor.values // tensor.row
    together = math.lcm(rows_together, _DRAWN_TOGETHER)  # so that no drawn byte is left over
    step = max(1, CHUNK_VALUES // (tensor.row * together)) * together
    silent = np.asarray(quiet if tensor.table else (), dtype=np.int64)
    for first in range(0, rows, step):
        codes = _draw(bits, min(step, rows - first) * tensor.row).reshape(-1, tensor.row)
        codes[codes == np.int8(-128)] = 0
        codes[silent[(silent >= first) & (silent < first + len(codes))] - first] = 0
        yield codes


def _draw(bits: np.random.PCG64, count: int) -> Codes:
    words = bits.random_raw(-(-count // _DRAWN_TOGETHER))
    return words.astype("<u8", copy=False).view(np.int8)[:count]


def _tensor_seed(name: str, seed: int) -> int:
    """A stream of its own for each tensor, so that its order in a file does not matter."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:16], "little")


def _table(codes_to_type: Callable[[NDArray[np.float32]], NDArray[Any]], step: float) -> Any:
    """The stored value of each of the 256 bytes."""
    signed = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float32)
    return codes_to_type(signed * np.float32(step))


def bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The upper halves of 32-bit floats; exact for values of at most eight significant bits."""
    return (values.view("<u4") >> np.uint32(16)).astype("<u2")


def _by_table(
    codes_to_type: Callable[[NDArray[np.float32]], NDArray[Any]],
) -> Callable[[Codes, float], memoryview]:
    def bytes_of(codes: Codes, step: float) -> memoryview:
        table = _table(codes_to_type, step)
        return memoryview(table.take(codes.reshape(-1).view(np.uint8)).data).cast("B")

    return bytes_of


def _blocks(codes: Codes, step: float) -> memoryview:
    blocks = np.empty(codes.size // BLOCK, dtype=_Q8_0)
    blocks["scale"] = step
    blocks["codes"] = codes.reshape(-1, BLOCK)
    return memoryview(blocks.view("u1").data)


def _plain(
    name: str, width: int, cast: Callable[[NDArray[np.float32]], NDArray[Any]]
) -> Storage:
    return Storage(name=name, bytes_per_block=width, block=1, bytes_of=_by_table(cast))


STORAGES: Final[Mapping[str, Storage]] = {
    each.name: each
    for each in (
        _plain("F32", 4, lambda values: values.astype("<f4")),
        _plain("F16", 2, lambda values: values.astype("<f2")),
        _plain("BF16", 2, bfloat16),
        Storage(name="Q8_0", bytes_per_block=34, block=BLOCK, bytes_of=_blocks),
    )
}


def stored(
    tensor: Tensor,
    storage: Storage,
    seed: int,
    quiet: Sequence[int] = (),
    interleave: int = 0,
) -> Iterator[bytes | memoryview]:
    """The tensor's bytes in order; ``interleave`` is the head dimension of rows to reorder."""
    if tensor.deviation is None:
        ones = np.ones((1, tensor.values), dtype=np.int8)
        yield storage.bytes_of(ones, tensor.constant)
        return
    step = scale(tensor.deviation)
    for codes in chunks(tensor, seed, quiet, interleave or 1):
        yield storage.bytes_of(interleaved(codes, interleave) if interleave else codes, step)


def interleaved(codes: Codes, head_dim: int) -> Codes:
    """Rows of each head reordered so that the halves that rotate together are neighbours.

    Hugging Face rotates value i with value i + D/2 of a head, llama.cpp's llama architecture
    value 2i with value 2i + 1.
    """
    halves = codes.reshape(-1, 2, head_dim // 2, codes.shape[-1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(codes.shape)
