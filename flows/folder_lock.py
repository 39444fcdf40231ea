"""A folder as a lock: no file is left behind, and the kernel frees it when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def hold(folder: Path) -> int | None:
    """The descriptor that locks a folder until it is closed; None where another has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
