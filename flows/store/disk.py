"""What makes files survive: written aside, brought to the disk, then named."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from flows.errors import InfrastructureError

_RESUME: Final = (
    "Make room or repair the disk, then continue with --resume: all that was kept is kept"
)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the system refuses into an error that says where, what and what to do."""
    try:
        yield
    except OSError as error:
        seen = f"it cannot be written: {error.strerror or type(error).__name__}"
        raise InfrastructureError(str(path), seen, _RESUME) from error


def settle(path: Path) -> None:
    """Bring a file's content, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder with its parents; each new name is on the disk afterwards."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    settle(path.parent)


def place(content: bytes, aside: Path, path: Path) -> None:
    """Put a file under its name: whole, or not at all and nothing changed."""
    make_folder(path.parent)
    make_folder(aside.parent)
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    settle(path.parent)


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
