"""The list of a dummy's files with their digests, which is also the proof that it is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

MANIFEST_NAME: Final = "runoff-dummy.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file's size and SHA-256."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a dummy is (``about``), the hash of its recipe, and its files."""

    key: str
    about: Mapping[str, Any]
    files: Mapping[str, Written]

    @property
    def sha256(self) -> str:
        """SHA-256 of the content: of the only file, or of the lines of ``sha256sum *``."""
        if len(self.files) == 1:
            return next(iter(self.files.values())).sha256
        lines = "".join(f"{self.files[name].sha256}  {name}\n" for name in sorted(self.files))
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def bytes(self) -> int:
        """Bytes of all files, the manifest apart."""
        return sum(each.bytes for each in self.files.values())

    def json(self) -> dict[str, Any]:
        """The manifest as plain values."""
        files = {name: asdict(self.files[name]) for name in sorted(self.files)}
        return {"dummy": True, **self.about, "key": self.key, "files": files}


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """JSON text, the same bytes for the same content."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def verified(folder: Path, key: str) -> Manifest | None:
    """The folder's manifest if it is that of ``key`` and every file has its digest."""
    found = _read(folder)
    if found is None or found.key != key:
        return None
    present = {path.name for path in folder.iterdir()} - {MANIFEST_NAME}
    if present != set(found.files):
        return None
    whole = all(_is(folder / name, written) for name, written in found.files.items())
    return found if whole else None


def _read(folder: Path) -> Manifest | None:
    try:
        match json.loads((folder / MANIFEST_NAME).read_bytes()):
            case {"key": str(key), "files": dict(listed)}:
                files = {name: Written(**entry) for name, entry in listed.items()}
                return Manifest(key=key, about={}, files=files)
    except (OSError, ValueError, TypeError):
        return None
    return None


def _is(path: Path, written: Written) -> bool:
    if path.stat().st_size != written.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
