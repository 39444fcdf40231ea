"""Weights that lie here, put on a host: each file once, whatever campaign needs it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from flows.errors import InfrastructureError
from flows.remote.host import RemoteHost

_KEY_DIGITS: Final = 16
_SPARE_BYTES: Final = 1 << 28  # for logs and caches beside it


def shipped(
    host: RemoteHost, path: Path, *, said: Callable[[str], None] = lambda _line: None
) -> str:
    """The file or folder as it lies on the host, under a name of its content.

    A file that is there already, by its SHA-256 as it was when it came, does not travel again.

    Raises
    ------
    InfrastructureError
        If the host has no room for it, or does not take it.
    """
    files = [path] if path.is_file() else [p for p in sorted(path.rglob("*")) if p.is_file()]
    digests = {each: _sha256(each, each.stat().st_mtime_ns) for each in files}
    names = {each: str(each.relative_to(path.parent)) for each in files}
    lines = "".join(f"{digests[each]}  {names[each]}\n" for each in files)
    key = hashlib.sha256(lines.encode()).hexdigest()[:_KEY_DIGITS]
    folder = PurePosixPath(host.equipped.root, "checkpoints", key)
    for each in files:
        _put(host, each, str(folder / names[each]), digests[each], said)
    return str(folder / path.name)


def _put(
    host: RemoteHost, source: Path, target: str, sha256: str, said: Callable[[str], None]
) -> None:
    mark = f"{target}.sha256"
    if host.ask("text", path=mark) == sha256:
        return
    parent = str(PurePosixPath(target).parent)
    host.ask("lay", folder=parent, files={}, links={})
    size, room = source.stat().st_size, host.ask("room", folder=parent)
    if size + _SPARE_BYTES > room:
        raise InfrastructureError(
            host.where,
            f"{source.name} has {size} bytes, and {parent} has room for {room}",
            "Make room there, or name another disk by RUNOFF_REMOTE in the host's environment",
        )
    said(f"copying {source.name} ({size / 2**20:.0f} MiB) to {host.name}")
    host.put(source, target)
    name = PurePosixPath(mark).name
    host.ask("lay", folder=parent, files={name: sha256}, links={})


@cache
def _sha256(path: Path, mtime_ns: int) -> str:
    del mtime_ns  # a changed file is another one
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
