"""Catalog folders: which files hold entries, and what a misplaced one is told."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import CatalogError

LAYOUT = ("campaigns", "devices", "links", "models", "offers", "runtimes", "workloads")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of entries, and whose it is (``runoff`` or the folder as the user wrote it)."""

    path: Path
    origin: str


def open_folder(path: Path) -> Folder:
    """A user's catalog folder, with at least one subfolder of the known layout.

    Raises
    ------
    CatalogError
        If it is not such a folder, or a subfolder's name is a near miss.
    """
    if not path.is_dir():
        seen = "this is a file, not a folder" if path.exists() else "there is no such folder"
        raise CatalogError(str(path), seen, "Name a folder that holds devices/, offers/ …")
    names = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
    for name in names:
        near = difflib.get_close_matches(name.lower(), LAYOUT, n=1, cutoff=0.75)
        if near and name not in LAYOUT:
            raise CatalogError(
                str(path / name), "this folder is not read", f"Did you mean {near[0]}/?"
            )
    if not set(names) & set(LAYOUT):
        raise CatalogError(
            str(path), "the folder holds no catalog", f"Put entries in {', '.join(LAYOUT)}"
        )
    return Folder(path, str(path))


def entry_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name (the file's, without suffix) and path of each entry, in order of name.

    Raises
    ------
    CatalogError
        For a ``.yml`` file, which would otherwise be passed over in silence.
    """
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.suffix == ".yml":
            raise CatalogError(
                str(path), "only .yaml files are read", f"Rename it to {path.stem}.yaml"
            )
        if path.suffix == ".yaml":
            yield path.stem, path
