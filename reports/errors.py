"""What can be wrong with files of results.

ReportsError
├── RecordsError  a records file is foreign, newer, damaged or cannot be written
└── DiskError     a disk is full or broken: nothing is wrong with what was asked
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

_OF_DISKS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class ReportsError(Exception):
    """A file of results is unusable; says where, what was seen, what to do."""

    def __init__(self, where: str, seen: str, do: str) -> None:
        super().__init__(f"{where}: {seen}. {do}" if do else f"{where}: {seen}.")
        self.where = where
        self.seen = seen
        self.do = do


class RecordsError(ReportsError):
    """A records file is foreign, newer, damaged or cannot be written."""


class DiskError(ReportsError):
    """A file cannot be written because its disk is full, or broken."""


def unwritten(
    path: Path, error: OSError, kind: type[ReportsError] = ReportsError
) -> ReportsError:
    """What to raise for a file that cannot be written; ``kind`` where no disk is the cause."""
    seen = f"cannot be written: {error.strerror or type(error).__name__}"
    if error.errno in _OF_DISKS:
        return DiskError(
            str(path), seen, "Make room or repair the disk, then run the command again"
        )
    return kind(str(path), seen, "Choose another place")
