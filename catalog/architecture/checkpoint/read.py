"""From a checkpoint's path to its bytes by class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from catalog.architecture.checkpoint import gguf, safetensors
from catalog.architecture.checkpoint.classes import tensor_class
from catalog.errors import CatalogError


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointBytes:
    """Bytes of a checkpoint's tensors by class, as its headers state them.

    ``extra``: parts that a text-only server without speculation does not read.
    """

    embedding: int = 0
    head: int = 0
    norms: int = 0
    experts: int = 0
    extra: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """All tensors, ``extra`` included."""
        return self.embedding + self.head + self.norms + self.experts + self.extra + self.other


def read_checkpoint(path: Path, layers: int | None = None) -> CheckpointBytes:
    """Bytes by class of a safetensors or GGUF file, an index, or a folder with one of them.

    ``layers`` is the model's number of layers: tensors of further ones are ``extra``. Reads
    headers only; what is damaged, truncated or incomplete is a CatalogError.
    """
    sums: Counter[str] = Counter()
    for name, held in _tensors(path).items():
        sums[tensor_class(name, layers)] += held
    return CheckpointBytes(**sums)


def _tensors(path: Path) -> dict[str, int]:
    if path.is_dir():
        path = _only_checkpoint(path)
    if not path.is_file():
        raise CatalogError(str(path), "no such file", "Give a checkpoint's file or folder")
    if path.name.endswith(".index.json"):
        return safetensors.indexed_tensors(path)
    if path.suffix == ".safetensors":
        return safetensors.file_tensors(path)
    if path.suffix == ".gguf":
        tensors: dict[str, int] = {}
        for part in gguf.split_files(path):
            tensors.update(gguf.file_tensors(part))
        return tensors
    raise CatalogError(
        str(path), "neither safetensors nor GGUF", "Give a file of one of these formats"
    )


def _only_checkpoint(folder: Path) -> Path:
    """The one checkpoint of a folder: its index, a single file, or the first of a split."""
    for pattern in ("*.safetensors.index.json", "*.safetensors", "*.gguf"):
        found = sorted(folder.glob(pattern))
        if pattern == "*.gguf" and found and gguf.split_files(found[0]) == found:
            return found[0]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(file.name for file in found[:4])
            raise CatalogError(str(folder), f"several checkpoints: {names}", "Name one file")
    raise CatalogError(str(folder), "no safetensors or GGUF file", "Give a checkpoint's folder")
