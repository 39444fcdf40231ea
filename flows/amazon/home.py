"""What is kept at home about rented machines: keys (mode 600), attempts, regions, who lives.

A run's lock is held by the process that rents for it, and freed by the kernel when that dies:
so a machine that was left behind is told from one that is in use.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from flows.amazon.tags import short

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_ID_BYTES: Final = 4
_MOST: Final = 200
_LOCK: Final = "lock"
_LOCK_TRIES: Final = 20
_LOCK_PAUSE_S: Final = 0.02
_held: dict[Path, int] = {}  # lock -> descriptor: runs for which this process rents
_users: defaultdict[Path, set[str]] = defaultdict(set)  # a run's hosts in this process
_alone = threading.RLock()  # hosts of a run are rented side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An SSH key pair: the private part's file, and the public part as in a ``.pub`` file."""

    file: Path
    public: str

    @property
    def private(self) -> str:
        """The private part in OpenSSH's format."""
        return self.file.read_text(encoding="ascii")


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of all that is kept about AWS; ``id`` tells it from that of another user."""

    path: Path

    @property
    def id(self) -> str:
        """Eight digits, drawn once, by whichever campaign comes first."""
        file = self.path / "id"
        if not file.is_file():
            drawn = self.path / f"id.{secrets.token_hex(_ID_BYTES)}"
            _write_private(drawn, secrets.token_hex(_ID_BYTES))
            with suppress(FileExistsError):
                file.hardlink_to(drawn)
            drawn.unlink()
        return file.read_text(encoding="ascii").strip()

    def remember(self, region: str) -> None:
        """A region in which something is about to be made."""
        (self.path / "regions").mkdir(parents=True, exist_ok=True)
        (self.path / "regions" / region).touch()

    def regions(self) -> tuple[str, ...]:
        """Regions in which something was ever made from here."""
        return tuple(sorted(path.name for path in self.path.glob("regions/*")))

    def run(self, campaign: str, run: str, region: str) -> RunHome:
        """What is kept about a run in a region."""
        name = _UNFIT.sub("-", f"{campaign}--{run}--{region}")
        return RunHome(self.path / "runs" / short(name, _MOST))


@dataclass(frozen=True, slots=True)
class RunHome:
    """The folder of one run's keys and attempts."""

    path: Path

    def hold(self, host_id: str) -> None:
        """Show, as long as this process lives, that the run is alive and has this host."""
        with _alone:
            _users[self.path].add(host_id)
            self._lock()

    def leave(self, host_id: str) -> bool:
        """The host is no longer wanted; whether this process wants no other of the run."""
        with _alone:
            _users[self.path].discard(host_id)
            return not _users[self.path]

    def wants(self, host_id: str) -> bool:
        """Whether this process wants the host, or has it."""
        return host_id in _users[self.path]

    def _lock(self) -> None:
        lock = self.path / _LOCK
        if lock in _held:
            return
        _private_folder(self.path)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(_LOCK_TRIES):  # who asks whether the run lives has it for a moment
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOCK_PAUSE_S)
                continue
            _held[lock] = descriptor
            return
        os.close(descriptor)  # a process of the same run has it already

    @property
    def is_held_here(self) -> bool:
        """Whether it is this process that rents for the run."""
        return self.path / _LOCK in _held

    def is_alive(self) -> bool:
        """Whether a process that rents for the run lives."""
        lock = self.path / _LOCK
        if lock in _held:
            return True
        try:
            descriptor = os.open(lock, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def pair(self, name: str) -> Pair:
        """The key pair of that name, made where there is none."""
        file = self.path / name
        with _alone:
            if not file.is_file():
                private = Ed25519PrivateKey.generate().private_bytes(
                    Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
                )
                _private_folder(self.path)
                _write_private(file, private.decode("ascii"))
        return Pair(file=file, public=_public(file))

    def has(self, name: str) -> bool:
        """Whether there is a key pair of that name."""
        return (self.path / name).is_file()

    def attempt(self, host_id: str) -> int:
        """The number of the present attempt to get a machine, from 1."""
        try:
            return int((self.path / f"{host_id}.attempt").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 1

    def next_attempt(self, host_id: str) -> None:
        """Whatever is asked for next is another machine."""
        _private_folder(self.path)
        _write_private(self.path / f"{host_id}.attempt", str(self.attempt(host_id) + 1))

    def forget(self) -> None:
        """Remove all keys and let go of the run; the attempts stay, AWS remembers them too."""
        with _alone:
            for path in sorted(self.path.glob("*")):
                if path.suffix != ".attempt" and path.name != _LOCK:
                    path.unlink(missing_ok=True)
            descriptor = _held.pop(self.path / _LOCK, None)
            if descriptor is not None:
                os.close(descriptor)


def _public(file: Path) -> str:
    key = load_ssh_private_key(file.read_bytes(), password=None)
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii")


def _private_folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def _write_private(path: Path, text: str) -> None:
    """A file that only its owner reads, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
