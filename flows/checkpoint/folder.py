"""A folder that appears whole or not at all: written aside under a lock, synced, renamed."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flows.checkpoint.manifest import Written, json_bytes
from flows.errors import InfrastructureError


@dataclass(slots=True, kw_only=True)
class FolderWriter:
    """Writes files into ``folder``, says how many bytes, and remembers what they are."""

    folder: Path
    told: Callable[[int], None]
    written: dict[str, Written] = field(default_factory=dict)

    def write(self, name: str, parts: Iterable[bytes | memoryview]) -> None:
        """One file out of its parts, hashed on the way and synced at the end."""
        digest, size = hashlib.sha256(), 0
        with (self.folder / name).open("wb") as file:
            for part in parts:
                file.write(part)
                digest.update(part)
                size += len(part)
                self.told(len(part))
            file.flush()
            os.fsync(file.fileno())
        self.written[name] = Written(bytes=size, sha256=digest.hexdigest())

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """One JSON file, the same bytes for the same content."""
        self.write(name, [json_bytes(content)])


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The right to write ``folder``; another process that wants it waits."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f".{folder.name}.lock").open("w")
    except OSError as error:
        raise _unwritable(folder.parent, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A folder to write in that takes the place of ``folder`` when all went well.

    What an earlier, killed process left there is removed first.
    """
    aside = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir()
        yield aside
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        raise _unwritable(folder.parent, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def require_room(folder: Path, needed_bytes: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise InfrastructureError(
            str(folder),
            f"{needed_bytes / 1e9:.1f} GB are needed, {free_bytes / 1e9:.1f} GB are free",
            "Make room, or name a folder on another disk",
        )


def _unwritable(folder: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        str(folder), f"it cannot be written: {error.strerror}", "Name a folder of yours"
    )


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
