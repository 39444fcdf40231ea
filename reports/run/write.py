"""Files of a run directory appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from reports.errors import ReportsError, unwritten


def write_whole(path: Path, content: bytes, *, is_new: bool = False) -> None:
    """Write the file: aside, to the disk, then under its name.

    Raises
    ------
    ReportsError
        Where it cannot be written, or with ``is_new`` already exists; DiskError for a disk
        that is full or broken.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write_through(aside, content)
        if is_new:
            os.link(aside, path)  # fails where the name is taken, unlike a rename
        else:
            aside.replace(path)
        _settle(path.parent)
    except FileExistsError:
        raise ReportsError(str(path), "this file exists", "Choose another place") from None
    except OSError as error:
        raise unwritten(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """Bring the folder's new name to the disk as well."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
