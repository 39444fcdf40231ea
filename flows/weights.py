"""The weights that a candidate is launched with: made, named or checked before its server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from catalog.schema import Candidate
from catalog.schema.model import Model
from deploy_templates.request import Checkpoint
from flows.checkpoint import Format, hub_checkpoint, make_dummy, path_checkpoint
from flows.errors import UsageError
from flows.launch_plans import Requested

_FILES: Final[Mapping[str, Format]] = {
    "float16": "gguf-f16",
    "gguf_f16": "gguf-f16",
    "bfloat16": "gguf-bf16",
    "gguf_bf16": "gguf-bf16",
    "gguf_q8_0": "gguf-q8_0",
}
_FOLDERS: Final[Mapping[str, Format]] = {"bfloat16": "hf"}

Told = Callable[[int, int], None]


def prepared_weights(
    candidate: Candidate,
    requested: Requested,
    model: Model,
    *,
    cache: Path,
    told: Told = lambda _done, _total: None,
) -> Checkpoint | None:
    """Where the server finds its weights, with their digest where we made them.

    None where nothing is to be prepared: an endpoint, a simulated engine.

    Parameters
    ----------
    cache
        Keeps dummies; each is made once.
    told
        Bytes written and to write, while a dummy is made.

    Raises
    ------
    UsageError
        For weights that this runtime cannot load, or that no dummy can stand for.
    """
    request, runtime = requested.request, requested.runtime
    if request is None or runtime is None or runtime.capabilities.simulation:
        return None
    weights = request.variables.weights or model.reference_precision
    where = f"candidate {candidate.name!r}, checkpoint"
    if candidate.checkpoint == "dummy":
        formats = _FILES if runtime.launch.loads_files else _FOLDERS
        if weights not in formats:
            raise UsageError(
                where,
                f"no dummy is made in {weights} for {runtime.name}",
                f"Choose one of {', '.join(formats)}, or give the path of a checkpoint",
            )
        return make_dummy(model, cache, format=formats[weights], progress=told).requested
    if candidate.checkpoint != "hub":
        return path_checkpoint(Path(candidate.checkpoint), model, weights).requested
    if runtime.launch.loads_files:
        raise UsageError(
            where,
            f"{runtime.name} loads a file and fetches nothing by name",
            "Give the path of a .gguf file, or dummy",
        )
    return hub_checkpoint(request.model, request.variables.revision, model).requested
