"""``manifest.json``: the SHA-256 and the size of every evidence and decision file.

Its own SHA-256 is what a person approves. It is written last but for the pages and the
signoff, which are outside of it.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.number import Frozen

FORMAT = 1


class FileEntry(Frozen):
    """One file: the SHA-256 of its bytes in lower-case hexadecimal, and how many they are."""

    sha256: str
    bytes: int


class Manifest(Frozen):
    """Every evidence and decision file of a run, by its path with ``/`` below the run."""

    schema_version: Literal[1] = 1
    files: dict[str, FileEntry]
