"""Runtimes found by scanning: every folder under ``runtimes`` that holds a ``runtime.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from catalog.errors import CatalogError
from catalog.load import OURS, load_section
from catalog.schema import Runtime

CAPABILITIES = "capabilities"


def shipped_runtimes() -> Path:
    """The folder of the runtimes that come with the package."""
    return Path(__file__).parent / "runtimes"


def runtime_files(folders: Sequence[Path] = ()) -> dict[str, tuple[Path, str]]:
    """Every runtime's file by name, and whose it is (``runoff`` or a folder of ``folders``).

    A user's folder is one of ``--catalog``: its runtimes lie in ``DIR/runtimes/NAME/``.
    """
    layers = [(shipped_runtimes(), OURS)]
    layers += [(folder / "runtimes", str(folder)) for folder in folders]
    return {
        path.parent.name: (path, origin)
        for layer, origin in layers
        for path in sorted(layer.glob("*/runtime.yaml"))
    }


def load_runtimes(folders: Sequence[Path] = ()) -> Mapping[str, Runtime]:
    """Capabilities of every runtime by name; those in ``folders`` of a user win over ours."""
    return {name: _runtime(path) for name, (path, _) in runtime_files(folders).items()}


def _runtime(path: Path) -> Runtime:
    runtime = load_section(path, CAPABILITIES, Runtime)
    if runtime.name != path.parent.name:
        raise CatalogError(
            str(path),
            f"runtime {runtime.name!r} does not fit its folder's name",
            f"Call the folder {runtime.name}, or the runtime {path.parent.name!r}",
        )
    return runtime
