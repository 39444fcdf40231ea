"""A run directory's copy elsewhere: uploaded as it completes, fetched to go on with it.

The directory on this machine is what is written and read; the copy follows. What is uploaded
is whole where it lies: a replication goes with its ``cell.json`` last, the ledger after what
it tells of, the manifest after all else. A copy with a manifest is complete. A copy that went
on elsewhere is never overwritten: its ledger does not begin ours then.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol

from flows.errors import InfrastructureError, UsageError
from flows.store.cells import CELL_FILE
from flows.store.disk import place, sha256_of, told
from reports.run import layout
from reports.run.layout import RunFolder

_APART: Final = "this run went on here and elsewhere, apart from each other"
_KEEP: Final = "Keep one: move the directory here away, and --resume goes on with the copy"
_ENDING: Final = frozenset(
    {layout.SUMMARY, layout.CHECKS, layout.DECISION, *layout.OUTSIDE_MANIFEST}
)


class Objects(Protocol):
    """Where copies lie: whole objects by their keys, each verified by its SHA-256."""

    def put(self, key: str, content: bytes) -> str:
        """Write an object; its SHA-256."""

    def get(self, key: str) -> bytes:
        """An object's content."""

    def sha256(self, key: str) -> str | None:
        """An object's SHA-256; None where there is none."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key that begins so."""

    def folders(self, prefix: str) -> tuple[str, ...]:
        """Names of folders below a prefix that ends with a slash."""

    def delete(self, key: str) -> None:
        """Take an object away."""


class Mirror:
    """The copy of one run directory, at ``prefix`` of the keys."""

    def __init__(self, folder: RunFolder, objects: Objects, prefix: str) -> None:
        self._folder = folder
        self._objects = objects
        self._prefix = f"{prefix}/"
        self._turn = threading.Lock()  # hosts of a campaign are served by threads of their own
        self._sent: dict[str, tuple[int, int]] = {}  # size and time of what lies there
        self._known: set[str] | None = None
        self._ledger_there: str | None = None  # the digest of one that begins ours

    def follow(self) -> None:
        """Upload evidence that is new; InfrastructureError where that fails, all is kept."""
        with self._turn:
            self._upload(name for name in self._names() if name not in _ENDING)

    def complete(self) -> None:
        """Upload all that is new, the manifest last, behind what it would not name."""
        with self._turn:
            names = self._names()
            self._upload(name for name in names if name != layout.MANIFEST)
            if layout.MANIFEST in names:
                self._drop_gone(names)
            self._upload(names)

    def fetch(self) -> bool:
        """Bring the directory here up to the copy where that is further; whether it was.

        Of one that is as far, what was signed elsewhere is brought.

        Raises
        ------
        UsageError
            If both have gone on apart, or there is neither.
        """
        there = {key.removeprefix(self._prefix) for key in self._objects.keys(self._prefix)}
        here = _ledger(self._folder)
        ledger = self._get(layout.LEDGER) if layout.LEDGER in there else b""
        if here.startswith(ledger) and here:
            if here == ledger and layout.SIGNOFF in there:
                self._fetch_signoff(there)
            return False
        if not ledger.startswith(here):
            raise UsageError(str(self._folder.path), _APART, _KEEP)
        for name in sorted(filter(_is_ours, there), key=_rank):
            path = self._folder.path / name
            if not (path.is_file() and sha256_of(path) == self._sha256(name)):
                self._place(name, self._get(name))
        if layout.MANIFEST in there:
            for name in set(self._names()) - there:  # logs that were packed away elsewhere
                (self._folder.path / name).unlink()
        return bool(there)

    def _fetch_signoff(self, there: set[str]) -> None:
        """Bring approvals that follow on those here; UsageError where others were given."""
        path = self._folder.file(layout.SIGNOFF)
        theirs = _approvals(self._get(layout.SIGNOFF))
        ours = _approvals(path.read_bytes()) if path.exists() else []
        if ours[: len(theirs)] == theirs:
            return
        if theirs[: len(ours)] != ours:
            raise UsageError(str(path), "others have signed elsewhere", "Keep one of both")
        for name in (f"{layout.SIGNOFF}.sig", layout.SIGNOFF):
            if name in there:
                self._place(name, self._get(name))

    def _refuse_apart(self) -> None:
        """Raise where somebody else has written the copy, and gone on without us."""
        there = self._sha256(layout.LEDGER)
        if there is None or there == self._ledger_there:
            return
        if not _ledger(self._folder).startswith(self._get(layout.LEDGER)):
            raise InfrastructureError(str(self._folder.path), _APART, _KEEP)
        self._ledger_there = there

    def _upload(self, names: Iterable[str]) -> None:
        wanted = tuple(names)
        due = [name for name in wanted if self._sent.get(name) != self._seen(name)]
        due = [name for name in due if not self._lies_there(name)]
        if due:
            self._refuse_apart()
        if layout.MANIFEST in self._there() and set(due) - layout.OUTSIDE_MANIFEST:
            self._objects.delete(self._prefix + layout.MANIFEST)  # it is complete no more
            self._there().discard(layout.MANIFEST)
            self._sent.pop(layout.MANIFEST, None)
            if layout.MANIFEST in wanted and layout.MANIFEST not in due:
                due.append(layout.MANIFEST)
        for name in due:
            seen = self._seen(name)
            content = _content(self._folder.path / name)
            if content is None or seen is None:
                continue
            digest = self._objects.put(self._prefix + name, content)
            self._ledger_there = digest if name == layout.LEDGER else self._ledger_there
            self._sent[name] = seen
            self._there().add(name)

    def _drop_gone(self, names: Iterable[str]) -> None:
        """Take away what was uploaded on the way and is no part of the run, as logs are."""
        gone = sorted(filter(_is_ours, self._there() - set(names)))
        for name in gone:
            if self._sha256(name) is None:
                continue  # somebody else's
            self._refuse_apart()
            self._objects.delete(self._prefix + name)
            self._there().discard(name)

    def _lies_there(self, name: str) -> bool:
        """Whether an earlier process has uploaded this very content."""
        if name in self._sent or name not in self._there():
            return False
        seen, content = self._seen(name), _content(self._folder.path / name)
        if content is None or seen is None:
            return False
        if self._sha256(name) != hashlib.sha256(content).hexdigest():
            return False
        self._sent[name] = seen
        return True

    def _names(self) -> tuple[str, ...]:
        """Every file that is whole, in the order in which a copy stays true."""
        root = self._folder.path
        found = {
            path.relative_to(root).as_posix() for path in root.rglob("*") if _is_file(path)
        }
        kept = (name for name in found if _is_ours(name) and _is_kept(name, found))
        return tuple(sorted(kept, key=_rank))

    def _there(self) -> set[str]:
        if self._known is None:
            keys = self._objects.keys(self._prefix)
            self._known = {key.removeprefix(self._prefix) for key in keys}
        return self._known

    def _seen(self, name: str) -> tuple[int, int] | None:
        try:
            found = (self._folder.path / name).stat()
        except FileNotFoundError:
            return None
        return found.st_size, found.st_mtime_ns

    def _get(self, name: str) -> bytes:
        return self._objects.get(self._prefix + name)

    def _sha256(self, name: str) -> str | None:
        return self._objects.sha256(self._prefix + name)

    def _place(self, name: str, content: bytes) -> None:
        path = self._folder.path / name
        aside = self._folder.path / layout.PARTIAL / f"{name.replace('/', '~')}.fetched"
        with told(path):
            place(content, aside, path)


def newest_run(objects: Objects, prefix: str) -> str | None:
    """The name of the newest run below a campaign's prefix that has a plan."""
    for run in sorted(objects.folders(f"{prefix}/"), reverse=True):
        if objects.sha256(f"{prefix}/{run}/{layout.PLAN}") is not None:
            return run
    return None


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_ours(name: str) -> bool:
    """Whether it is a name inside a run directory, of a file that is evidence or a page."""
    parts = PurePosixPath(name).parts
    is_inside = bool(parts) and parts[0] != "/" and ".." not in parts and "\\" not in name
    return is_inside and parts[0] != layout.PARTIAL and not layout.ASIDE.fullmatch(parts[-1])


def _is_kept(name: str, found: set[str]) -> bool:
    """Whether it is no part of a replication that is not whole yet."""
    parts = PurePosixPath(name).parts
    if len(parts) != 3 or parts[0] != "cells":
        return True
    return f"{parts[0]}/{parts[1]}/{parts[2].partition('.')[0]}.{CELL_FILE}" in found


def _rank(name: str) -> tuple[int, str]:
    if name == layout.MANIFEST:
        return 5, name
    if name == layout.LEDGER:
        return 2, name
    if name in layout.OUTSIDE_MANIFEST:
        return 4, name
    if name in _ENDING:
        return 3, name
    return int(name.endswith(f".{CELL_FILE}")), name


def _content(path: Path) -> bytes | None:
    """A file as it is uploaded: of the ledger only whole lines; None where it has gone."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return content[: content.rfind(b"\n") + 1] if path.name == layout.LEDGER else content


def _ledger(folder: RunFolder) -> bytes:
    return _content(folder.file(layout.LEDGER)) or b""


def _approvals(signoff: bytes) -> list[Any]:
    found: list[Any] = json.loads(signoff)["approvals"]
    return found
