"""Runtimes found by scanning: every folder under ``runtimes`` that holds a ``runtime.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from catalog.errors import CatalogError
from catalog.load import load_section
from catalog.schema import Runtime

CAPABILITIES = "capabilities"


def shipped_runtimes() -> Path:
    """The folder of the runtimes that come with the package."""
    return Path(__file__).parent / "runtimes"


def load_runtimes(folders: Sequence[Path] = ()) -> Mapping[str, Runtime]:
    """Capabilities of every runtime by name; those in ``folders`` of a user win over ours.

    A user's folder is one of ``--catalog``: its runtimes lie in ``DIR/runtimes/NAME/``.
    """
    layers = [shipped_runtimes(), *(folder / "runtimes" for folder in folders)]
    return {
        path.parent.name: _runtime(path)
        for layer in layers
        for path in sorted(layer.glob("*/runtime.yaml"))
    }


def _runtime(path: Path) -> Runtime:
    runtime = load_section(path, CAPABILITIES, Runtime)
    if runtime.name != path.parent.name:
        raise CatalogError(
            str(path),
            f"runtime {runtime.name!r} does not fit its folder's name",
            f"Call the folder {runtime.name}, or the runtime {path.parent.name!r}",
        )
    return runtime
