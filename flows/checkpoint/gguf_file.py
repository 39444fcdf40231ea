"""A dummy as one GGUF file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flows.checkpoint import gguf
from flows.checkpoint.folder import FolderWriter
from flows.checkpoint.gguf_model import GgufTensor, gguf_tensors, metadata
from flows.checkpoint.recipe import Recipe
from flows.checkpoint.tokenizer import gguf_tokenizer
from flows.checkpoint.values import stored

NAME: Final = "model.gguf"


def weights_bytes(recipe: Recipe) -> int:
    """Bytes of all tensors, without padding."""
    return sum(tensor.placed.size for tensor in gguf_tensors(recipe))


def write(recipe: Recipe, writer: FolderWriter) -> None:
    """The file."""
    tensors = gguf_tensors(recipe)
    header = gguf.header(
        {**metadata(recipe), **gguf_tokenizer(recipe.words)},
        [tensor.placed for tensor in tensors],
    )
    writer.write(NAME, _parts(recipe, header, tensors))


def _parts(
    recipe: Recipe, header: bytes, tensors: tuple[GgufTensor, ...]
) -> Iterator[bytes | memoryview]:
    yield header
    for tensor in tensors:
        placed = tensor.placed
        for source in tensor.sources:
            yield from stored(
                source, placed.storage, recipe.seed, recipe.words.quiet, tensor.interleave
            )
        yield bytes(gguf.padding(placed.size))
