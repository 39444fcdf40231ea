"""A run as one file: the same bytes for the same run, with a program that verifies it."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from reports import verify_bundle
from reports.errors import ReportsError, unwritten
from reports.manifest import verify
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.manifest_file import Manifest
from reports.run.read import read_file

VERIFY: Final = "verify.py"
INSIDE: Final = "run"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # of a ZIP; no member has the time of its making
_RIGHTS: Final = 0o644
_AT_ONCE: Final = 1 << 20


def write_bundle(folder: RunFolder, target: Path) -> int:
    """Write the run as ``.zip`` or ``.tar`` and return how many files are in it.

    Nothing is compressed: records and logs are already, and the bytes then depend on nothing
    but the run.

    Raises
    ------
    ReportsError
        For another ending, a run that its manifest does not describe, or a target that exists.
    """
    pack = _FORMS.get(target.suffix)
    if pack is None:
        raise ReportsError(
            str(target), "a bundle is a .zip or a .tar", "Give it one of these endings"
        )
    if target.exists():
        raise ReportsError(str(target), "this file exists", "Choose another place")
    found = verify(folder)
    if found:
        raise ReportsError(
            str(folder.path / found[0].path),
            f"it is {found[0].kind}: {found[0].seen}",
            "A run is bundled as its manifest has it: see runoff check",
        )
    members = list(_members(folder))
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        pack(members, aside)
        aside.replace(target)
    except OSError as error:
        raise unwritten(target, error) from error
    finally:
        aside.unlink(missing_ok=True)
    return len(members)


Member = tuple[str, Path]  # its name in the bundle, and the file


def _members(folder: RunFolder) -> Iterator[Member]:
    """The verifying program, then every file of the run in order of name."""
    yield VERIFY, Path(verify_bundle.__file__)
    names = {*read_file(folder.file(layout.MANIFEST), Manifest).files}
    names |= {name for name in layout.OUTSIDE_MANIFEST if folder.file(name).is_file()}
    for name in sorted(names):
        yield f"{INSIDE}/{name}", folder.path / name


def _zip(members: list[Member], target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, path in members:
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.external_attr = _RIGHTS << 16
            info.create_system = 3  # Unix, wherever it is made
            info.file_size = path.stat().st_size
            with path.open("rb") as source, archive.open(info, "w") as file:
                while part := source.read(_AT_ONCE):
                    file.write(part)


def _tar(members: list[Member], target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in members:
            info = tarfile.TarInfo(name)
            info.size, info.mode = path.stat().st_size, _RIGHTS
            with path.open("rb") as source:
                archive.addfile(info, source)


_FORMS: Final[dict[str, Callable[[list[Member], Path], None]]] = {".zip": _zip, ".tar": _tar}
