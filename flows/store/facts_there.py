"""What a history reads of the runs in a bucket, brought to a folder of this machine's cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Final

from flows.s3 import Bucket
from flows.store.disk import place, sha256_of, told
from reports.run import layout

_READ: Final = (
    layout.PLAN,
    layout.SUMMARY,
    layout.DECISION,
    layout.REEVALUATION,
    layout.MANIFEST,
    layout.SIGNOFF,
)


_TAGS: Final = ".tags"  # of what is here: objects of which the tag is the same are the same
_AT_ONCE: Final = 8  # requests; below what the library keeps connections for


def fetch_facts(bucket: Bucket, prefix: str, folder: Path) -> None:
    """Bring the folder to what lies below ``prefix``: new and changed files, none that is gone.

    Objects without a SHA-256 are somebody else's and are passed over.
    """
    begin = f"{prefix}/" if prefix else ""
    there = {key.removeprefix(begin): tag for key, tag in bucket.tags(begin).items()}
    wanted = set(_wanted(set(there)))
    here = {name: tag for name, tag in _tags(folder).items() if (folder / name).is_file()}
    due = sorted(name for name in wanted if here.get(name) != there[name])

    def bring(name: str) -> bool:
        path, digest = folder / name, bucket.sha256(begin + name)
        if digest is None:
            return False
        if not path.is_file() or sha256_of(path) != digest:
            with told(path):
                place(bucket.get(begin + name), path.with_name(f".{path.name}.fetched"), path)
        return True

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        brought = [
            name for name, is_here in zip(due, pool.map(bring, due), strict=True) if is_here
        ]
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    kept = {name: there[name] for name in (wanted - set(due)) | set(brought)}
    with told(folder):
        place(json.dumps(kept).encode(), folder / f"{_TAGS}.new", folder / _TAGS)


def _tags(folder: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((folder / _TAGS).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found


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
