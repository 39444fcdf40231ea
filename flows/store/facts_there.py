"""What a history reads of the runs in a bucket, brought to a folder of this machine's cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from flows.store.disk import place, sha256_of, told
from flows.store.mirror import Objects
from reports.run import layout

_READ: Final = (
    layout.PLAN,
    layout.SUMMARY,
    layout.DECISION,
    layout.MANIFEST,
    layout.SIGNOFF,
)


def fetch_facts(objects: Objects, prefix: str, folder: Path) -> None:
    """Bring the folder to what lies below ``prefix``: new and changed files, none that is gone.

    Objects without a SHA-256 are somebody else's and are passed over.
    """
    begin = f"{prefix}/" if prefix else ""
    there = {key.removeprefix(begin) for key in objects.keys(begin)}
    wanted = set(_wanted(there))
    for name in sorted(wanted):
        path, digest = folder / name, objects.sha256(begin + name)
        if digest is None or (path.is_file() and sha256_of(path) == digest):
            continue
        with told(path):
            place(objects.get(begin + name), path.with_name(f".{path.name}.fetched"), path)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()


def _wanted(there: set[str]) -> Iterator[str]:
    """The files that a history reads, of run directories alone and inside of the folder."""
    places = {PurePosixPath(name) for name in there if ".." not in PurePosixPath(name).parts}
    runs = {each.parent for each in places if each.name == layout.PLAN}
    runs = {each for each in runs if not runs & set(each.parents)}  # launches have plans too
    for each in places:
        is_host = len(each.parts) > 3 and each.parts[-3] == "hosts"
        run = each.parents[2] if is_host else each.parent
        is_read = each.name == "system.json" if is_host else each.name in _READ
        if run in runs and is_read and str(each) in there and not each.is_absolute():
            yield str(each)
