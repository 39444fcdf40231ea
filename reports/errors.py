"""What can be wrong with files of results.

ReportsError
└── RecordsError  a records file is foreign, newer, damaged or cannot be written
"""

from __future__ import annotations


class ReportsError(Exception):
    """A file of results is unusable; says where, what was seen, what to do."""

    def __init__(self, where: str, seen: str, do: str) -> None:
        super().__init__(f"{where}: {seen}. {do}" if do else f"{where}: {seen}.")
        self.where = where
        self.seen = seen
        self.do = do


class RecordsError(ReportsError):
    """A records file is foreign, newer, damaged or cannot be written."""
