"""The manifest of a run directory: made, written, and held against the files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from reports.errors import ReportsError
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.manifest_file import FileEntry, Manifest
from reports.run.read import file_text, read_file
from reports.run.write import write_whole

Kind = Literal["changed", "missing", "extra", "unreadable", "refused"]
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DO = "Restore the file, or conclude the run again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which a run directory is not what its manifest says, and in which file."""

    kind: Kind
    path: str
    seen: str


def build_manifest(folder: RunFolder) -> Manifest:
    """Hash and size of every file that the manifest covers, as they are now.

    Raises
    ------
    ReportsError
        For a file that cannot be read or that is no plain file below the run.
    """
    found = dict(_found(folder.path))
    files = {}
    for name in sorted(found):
        if refused := found[name]:
            raise ReportsError(str(folder.path / name), refused, "Take it out of the run")
        try:
            files[name] = _entry(folder.path / name)
        except OSError as error:
            raise ReportsError(
                str(folder.path / name), f"cannot be read: {error.strerror}", _DO
            ) from error
    return Manifest(files=files)


def write_manifest(folder: RunFolder) -> Manifest:
    """Write ``manifest.json`` of the files as they are now."""
    manifest = build_manifest(folder)
    write_whole(folder.file(layout.MANIFEST), file_text(manifest).encode())
    return manifest


def manifest_sha256(folder: RunFolder) -> str:
    """The SHA-256 of ``manifest.json`` itself: what is approved and what pages print."""
    path = folder.file(layout.MANIFEST)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ReportsError(str(path), f"cannot be read: {error.strerror}", _DO) from error


def verify(folder: RunFolder) -> tuple[Finding, ...]:
    """Every difference between the manifest and the files; empty where there is none."""
    try:
        manifest = read_file(folder.file(layout.MANIFEST), Manifest)
    except ReportsError as error:
        return (Finding(kind="unreadable", path=layout.MANIFEST, seen=error.seen),)
    return tuple(
        sorted(
            _differences(folder.path, manifest.files), key=lambda each: (each.path, each.kind)
        )
    )


def _differences(root: Path, stated: Mapping[str, FileEntry]) -> Iterator[Finding]:
    found = dict(_found(root))
    if not stated:
        yield Finding(kind="refused", path=layout.MANIFEST, seen="it names no file")
    for name, refused in found.items():
        if refused:
            yield Finding(kind="refused", path=name, seen=refused)
        elif name not in stated:
            yield Finding(kind="extra", path=name, seen="the manifest does not name it")
    for name, entry in stated.items():
        if why := _refusal(name, entry):
            yield Finding(kind="refused", path=name, seen=why)
        elif name not in found:
            yield Finding(kind="missing", path=name, seen="the manifest names it")
        elif not found[name]:
            yield from _change(root / name, name, entry)


def _refusal(name: str, entry: FileEntry) -> str | None:
    """Why an entry of the manifest cannot stand for a file; None where it can."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or str(place) != name or not place.parts:
        return "the manifest names a place that is not below the run"
    if not is_digest(entry.sha256):
        return f"the manifest holds {entry.sha256!r} where a SHA-256 belongs"
    if name in layout.OUTSIDE_MANIFEST:
        return "the manifest names a page or a signature"
    return None


def is_digest(text: str) -> bool:
    """Whether it can be a SHA-256: 64 hexadecimal digits, and not one digit repeated."""
    return _SHA256.fullmatch(text) is not None and len(set(text)) > 1


def _change(path: Path, name: str, entry: FileEntry) -> Iterator[Finding]:
    try:
        now = _entry(path)
    except OSError as error:
        yield Finding(kind="unreadable", path=name, seen=str(error.strerror))
        return
    if now.bytes != entry.bytes:
        seen = f"{now.bytes} bytes, the manifest has {entry.bytes}"
        yield Finding(kind="changed", path=name, seen=seen)
    elif now.sha256 != entry.sha256:
        seen = f"SHA-256 {now.sha256[:12]}…, the manifest has {entry.sha256[:12]}…"
        yield Finding(kind="changed", path=name, seen=seen)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; OSError where it cannot be read."""
    return _entry(path).sha256


def _entry(path: Path) -> FileEntry:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(sha256=digest, bytes=file.tell())


def _found(root: Path, below: str = "") -> Iterator[tuple[str, str | None]]:
    """Every name that the manifest must cover, with the reason where none can."""
    try:
        entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
    except OSError as error:
        yield below or ".", f"cannot be read: {error.strerror}"
        return
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.is_symlink():
            yield name, "it is a symbolic link: evidence lies in the run itself"
        elif not _is_text(name):
            yield name, "its name is no text"
        elif entry.is_dir(follow_symlinks=False):
            if name != layout.PARTIAL:
                yield from _found(root, name)
        elif not entry.is_file(follow_symlinks=False):
            yield name, "it is no plain file"
        elif name not in layout.OUTSIDE_MANIFEST and not layout.ASIDE.fullmatch(entry.name):
            yield name, None


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8, as Python carries them
        return False
    return True
