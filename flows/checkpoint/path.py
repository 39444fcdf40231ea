"""A checkpoint of the user's on this machine, held against the catalog before it is served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from catalog.architecture import (
    Architecture,
    Precision,
    UnknownArchitecture,
    parameters,
    precision,
    read_config,
    weight_bytes,
)
from catalog.architecture.checkpoint import (
    CheckpointBytes,
    checkpoint_weight_bytes,
    read_checkpoint,
)
from catalog.schema.model import Model
from deploy_templates.request import Checkpoint
from flows.errors import UsageError

Kind = Literal["hf", "gguf"]

_CONFIGS: Final = ("config.json",)
_TOKENIZERS: Final = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json")
_COMPARED: Final = ("width", "vocabulary", "tied", "query_heads", "kv_heads", "head_dim")
_LARGEST_CONFIG: Final = 2**20
# Buffers that some files hold besides their parameters are far below the first.
_PLAIN_TOLERANCE: Final = 0.001
_QUANTISED_TOLERANCE: Final = 0.05  # scales and zeros differ between writers of one scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class PathCheckpoint:
    """A Hugging Face folder or a GGUF file that fits the catalog's model.

    ``held`` are the bytes that its headers state; ``loaded_bytes`` what a server loads of
    them, ``expected_bytes`` what the catalog's parameters take in this precision. Where the
    catalog cannot count the model, ``unknown`` says why and nothing was compared.
    """

    path: Path
    kind: Kind
    precision: str
    held: CheckpointBytes
    loaded_bytes: int | None = None
    expected_bytes: int | None = None
    unknown: str | None = None

    @property
    def requested(self) -> Checkpoint:
        """The checkpoint of a launch request; its content is not hashed."""
        return Checkpoint(kind="path", location=str(self.path))


def path_checkpoint(path: Path, model: Model, weights: str) -> PathCheckpoint:
    """The checkpoint at ``path``, whose headers agree with ``model`` in precision ``weights``.

    Raises
    ------
    UsageError
        Where it is missing, cannot be read, lacks a file, or is another model.
    CatalogError
        Where its headers are damaged or incomplete.
    """
    try:
        return _compared(path, model, precision(weights))
    except OSError as error:
        raise _unusable(
            path,
            f"it cannot be read: {error.strerror or error}",
            "Check that its files are whole and that you may read them",
        ) from error


def _compared(path: Path, model: Model, scheme: Precision) -> PathCheckpoint:
    place, kind = _engine_path(path)
    try:
        arch = read_config(model.config)
    except UnknownArchitecture as unknown:
        return PathCheckpoint(
            path=place,
            kind=kind,
            precision=scheme.name,
            held=read_checkpoint(path),
            unknown=unknown.reason,
        )
    if kind == "hf":
        _require_same_shape(path / "config.json", arch, model)
    held = read_checkpoint(path, len(arch.layers))
    loaded, expected = checkpoint_weight_bytes(arch, held), weight_bytes(arch, scheme)
    if abs(loaded - expected) > _tolerance(scheme) * expected:
        raise _unusable(
            path,
            f"its tensors take {loaded:,} bytes; the {parameters(arch):,} parameters of "
            f"{model.name} in {scheme.name} take {expected:,}",
            "Name the model and the precision that it holds",
        )
    return PathCheckpoint(
        path=place,
        kind=kind,
        precision=scheme.name,
        held=held,
        loaded_bytes=loaded,
        expected_bytes=expected,
    )


def _engine_path(path: Path) -> tuple[Path, Kind]:
    """What an engine is given: the folder of safetensors, or the (first) GGUF file."""
    if not path.exists():
        raise _unusable(path, "no such file or folder", "Check the path")
    if path.suffix == ".gguf":
        return path, "gguf"
    if not path.is_dir():
        raise _unusable(path, "neither a folder nor a GGUF file", "Give the model's folder")
    files = sorted(path.glob("*.gguf"))
    if files and not any(path.glob("*.safetensors")):
        return files[0], "gguf"
    for wanted in (_CONFIGS, _TOKENIZERS):
        if not any((path / name).is_file() for name in wanted):
            raise _unusable(
                path, f"it has no {' or '.join(wanted)}", "Give the whole folder as downloaded"
            )
    return path, "hf"


def _require_same_shape(config: Path, arch: Architecture, model: Model) -> None:
    """Refuse a config.json whose layers or tables are not those of the catalog's model."""
    try:
        found = read_config(_object(config))
    except UnknownArchitecture as unknown:
        raise _unusable(config, unknown.reason, "Give a language model's own config") from None
    differences = list(_differences(found, arch))
    if differences:
        raise _unusable(
            config,
            f"it is not {model.name}: {'; '.join(differences)}",
            "Name the model that it is, or add an entry of yours to the catalog",
        )


def _differences(found: Architecture, expected: Architecture) -> Iterator[str]:
    for name in _COMPARED:
        seen, wanted = getattr(found, name), getattr(expected, name)
        if seen != wanted:
            yield f"{name} {seen}, not {wanted}"
    if len(found.layers) != len(expected.layers):
        yield f"{len(found.layers)} layers, not {len(expected.layers)}"
    elif found.layers != expected.layers:
        yield "its layers are of other shapes"


def _object(config: Path) -> dict[str, Any]:
    text = config.read_bytes()[:_LARGEST_CONFIG]
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _unusable(config, "it holds no JSON object", "Download the file again")
    return content


def _tolerance(scheme: Precision) -> float:
    plain = scheme.linear_bits == 16 or scheme.name == "gguf_q8_0"
    return _PLAIN_TOLERANCE if plain else _QUANTISED_TOLERANCE


def _unusable(path: Path, seen: str, do: str) -> UsageError:
    return UsageError(f"checkpoint {path}", seen, do)
