"""Checkpoints of random weights, made here from the catalog's architecture.

A dummy has the shapes, the bytes and the vocabulary size of its model, so it costs a machine
what the model costs; it answers nonsense. The same model, format and seed give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from catalog.schema.model import Model
from deploy_templates.request import Checkpoint
from flows.checkpoint import gguf_file, hugging_face
from flows.checkpoint.folder import FolderWriter, appearing, locked, require_room
from flows.checkpoint.manifest import MANIFEST_NAME, Manifest, verified
from flows.checkpoint.recipe import Format, Recipe, recipe

_BESIDE_WEIGHTS_BYTES: Final = 64 * 2**20  # tokenizer, headers, metadata
_KEY_DIGITS: Final = 12

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyCheckpoint:
    """A dummy on disk: the folder or the GGUF file that an engine is given.

    ``sha256`` is that of the GGUF file, or of the lines that ``sha256sum`` prints for the
    sorted files of the folder; ``bytes`` are those of all files. ``assumed`` are config fields
    that the catalog does not state. ``made`` is false where a verified one was found.
    """

    path: Path
    sha256: str
    bytes: int
    model: str
    format: Format
    seed: int
    assumed: Mapping[str, Any]
    made: bool

    @property
    def requested(self) -> Checkpoint:
        """The checkpoint of a launch request, marked dummy."""
        return Checkpoint(kind="dummy", location=str(self.path), sha256=self.sha256)


def make_dummy(
    model: Model,
    folder: Path,
    *,
    format: Format,  # noqa: A002 - the word that users and campaign files say
    seed: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> DummyCheckpoint:
    """A checkpoint of random weights under ``folder``, made unless it is there already.

    Parameters
    ----------
    folder
        Where dummies are kept. Each has a folder of its own, named after its content; one
        that is incomplete or no longer has its digests is made again.
    format
        ``hf`` (BF16 safetensors) or a GGUF type.
    progress
        Told after each chunk how many bytes of how many are written.

    Raises
    ------
    UsageError
        For a model whose layout is not certain, with the reason.
    InfrastructureError
        Where the disk is too small or cannot be written.
    """
    made_of = recipe(model, format, seed)
    key = made_of.key()
    place = folder / f"{_slug(model.name)}-{format}-{key[:_KEY_DIGITS]}"
    with locked(place):
        found = verified(place, key)
        manifest = found or _make(made_of, key, place, progress)
    return DummyCheckpoint(
        path=place if format == "hf" else place / gguf_file.NAME,
        sha256=manifest.sha256,
        bytes=manifest.bytes,
        model=model.name,
        format=format,
        seed=seed,
        assumed=made_of.assumed,
        made=found is None,
    )


def _make(made_of: Recipe, key: str, place: Path, progress: Progress) -> Manifest:
    layout = hugging_face if made_of.format == "hf" else gguf_file
    total = layout.weights_bytes(made_of)
    done = 0

    def told(size: int) -> None:
        nonlocal done
        done = min(total, done + size)
        progress(done, total)

    require_room(place.parent, total + _BESIDE_WEIGHTS_BYTES)
    with appearing(place) as aside:
        writer = FolderWriter(folder=aside, told=told)
        layout.write(made_of, writer)
        manifest = Manifest(key=key, about=_about(made_of), files=dict(writer.written))
        writer.write_json(MANIFEST_NAME, manifest.json())
    return manifest


def _about(made_of: Recipe) -> dict[str, Any]:
    return {
        "model": made_of.model.name,
        "format": made_of.format,
        "seed": made_of.seed,
        "assumed": dict(made_of.assumed),
    }


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-").lower()
