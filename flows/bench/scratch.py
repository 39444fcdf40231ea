"""Folders of a load's own: they hold keys, so none outlives who made it for long.

One that was killed outright cannot remove its folder. The system takes its lock from it, which
tells the next one that nobody needs the folder any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_NAME: Final = "runoff-load-"
_NEW: Final = ".runoff-new-"  # not locked yet, and empty: nobody takes it for a leftover


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder below the system's own for such, gone when the block ends.

    Those of this user that killed loads have left are removed before.
    """
    root = Path(tempfile.gettempdir())
    _remove_leftovers(root)
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=root))
    lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = new.rename(root / f"{_NAME}{new.name.removeprefix(_NEW)}")
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _remove_leftovers(root: Path) -> None:
    for folder in root.glob(f"{_NAME}*"):
        with contextlib.suppress(OSError):  # another one removes it, or it is no folder
            _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    if folder.lstat().st_uid != os.geteuid():
        return
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
