"""A dummy as a Hugging Face folder: configs, tokenizer, weights in safetensors."""

from __future__ import annotations

from collections.abc import Iterator

from flows.checkpoint import safetensors
from flows.checkpoint.config import generation_config
from flows.checkpoint.folder import FolderWriter
from flows.checkpoint.recipe import Recipe
from flows.checkpoint.tokenizer import tokenizer_config, tokenizer_json
from flows.checkpoint.values import stored


def weights_bytes(recipe: Recipe) -> int:
    """Bytes of all tensors."""
    return sum(recipe.storage.size(tensor.values) for tensor in recipe.tensors)


def write(recipe: Recipe, writer: FolderWriter) -> None:
    """All files of the folder."""
    writer.write_json("config.json", recipe.config)
    writer.write_json("generation_config.json", generation_config(recipe.words))
    writer.write_json("tokenizer.json", tokenizer_json(recipe.words))
    settings = tokenizer_config(recipe.words, recipe.arch.max_context)
    writer.write_json("tokenizer_config.json", settings)
    files = safetensors.shards(recipe.tensors, recipe.storage)
    for shard in files:
        writer.write(shard.name, _shard(recipe, shard))
    if len(files) > 1:
        index = safetensors.index_json(files, recipe.storage)
        writer.write_json("model.safetensors.index.json", index)


def _shard(recipe: Recipe, shard: safetensors.Shard) -> Iterator[bytes | memoryview]:
    metadata = {"format": "pt", "runoff": recipe.description}
    yield safetensors.header(shard.tensors, recipe.storage, metadata)
    for tensor in shard.tensors:
        yield from stored(tensor, recipe.storage, recipe.seed, recipe.words.quiet)
