"""Where run directories lie below a folder, and by what is seen that one has changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reports.run import layout

_MARKS: Final = frozenset(
    {layout.PLAN, layout.SUMMARY, layout.DECISION, layout.MANIFEST, layout.LEDGER}
)
READ: Final = (
    layout.PLAN,
    layout.SUMMARY,
    layout.DECISION,
    layout.REEVALUATION,
    layout.MANIFEST,
    layout.SIGNOFF,
    layout.REPORT_HTML,
)


def run_folders(root: Path) -> Iterator[Path]:
    """Every run directory below a folder, itself included, in order of their paths.

    A folder is one by any file that only runs have; nothing inside of one is looked at, nor
    are hidden folders and links.
    """
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name in _MARKS for entry in entries):
        yield root
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from run_folders(Path(entry.path))


def mark_of(folder: Path) -> str:
    """What changes when a run does: its manifest's SHA-256, size and time of what is read."""
    seen = [_sha256(folder / layout.MANIFEST)]
    for name in READ:
        try:
            found = (folder / name).stat()
        except OSError:
            seen.append("-")
        else:
            seen.append(f"{found.st_size}.{found.st_mtime_ns}")
    hosts = folder / "hosts"
    seen.append(str(hosts.stat().st_mtime_ns) if hosts.is_dir() else "-")
    return " ".join(seen)


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "-"
