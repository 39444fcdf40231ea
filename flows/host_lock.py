"""One campaign at a time on a host: a lock that the kernel frees when its holder dies.

The file is never removed: two campaigns would else hold two files of one name. What stands in
it says who holds the lock; what a dead holder wrote is taken over and told.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import getpass
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from flows.errors import InfrastructureError
from flows.launch.processes import described, process_of

FOLDER_VARIABLE: Final = "RUNOFF_LOCKS"
_FOLDERS: Final = ("/run/lock", "/var/tmp", "/tmp")  # noqa: S108 - locks of all users meet there
_ANYONE: Final = 0o666
_TOKEN_BYTES: Final = 8
_MOST_BYTES: Final = 65_536
_held: dict[
    str, int
] = {}  # token -> descriptor: what this process holds, as the kernel sees it


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who has a host: process (with its start, which tells it from a later one), campaign."""

    token: str
    host: str
    pid: int
    started_ticks: int
    user: str
    campaign: str
    run: str
    since: dt.datetime
    expires: dt.datetime

    @property
    def is_alive(self) -> bool:
        """Whether the very process that took the lock still runs."""
        process = process_of(self.pid)
        return process is not None and process.started_ticks == self.started_ticks

    def __str__(self) -> str:
        since = f"{self.since:%Y-%m-%d %H:%M:%S} UTC"
        return (
            f"campaign {self.campaign!r} of {self.user} "
            f"({described(self.pid)}, run {self.run}) since {since}"
        )

    def to_json(self) -> dict[str, Any]:
        """The holder as strict JSON values, as the lock's file has it."""
        times = {"since": self.since.isoformat(), "expires": self.expires.isoformat()}
        return {**asdict(self), **times}

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """A holder from its JSON values; TypeError, KeyError or ValueError where it is none."""
        times = {name: dt.datetime.fromisoformat(plain[name]) for name in ("since", "expires")}
        return cls(**{**plain, **times})


def lock_folder(environment: Mapping[str, str]) -> Path:
    """Where locks of all users of this machine meet: the system's folder, or RUNOFF_LOCKS.

    It is no folder of one user's: two of them would then measure side by side.
    """
    named = environment.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    return next(
        (Path(each) for each in _FOLDERS if os.access(each, os.W_OK)), Path(_FOLDERS[-1])
    )


def take(
    folder: Path, host: str, *, campaign: str, run: str, now: dt.datetime, expires: dt.datetime
) -> tuple[Holder, Holder | None]:
    """Hold the host for this process; who we are, and the dead holder that was replaced.

    Raises
    ------
    InfrastructureError
        If somebody else holds it, with who, since when and until when.
    """
    descriptor = _locked(_path(folder, host), host, now)
    before = _written(descriptor)
    holder = _this_process(host, campaign, run, now, expires)
    _write(descriptor, holder)
    _held[holder.token] = descriptor
    return holder, before


def free(folder: Path, host: str, token: str) -> None:
    """Give the host back; nothing happens where this holding is over already.

    Raises
    ------
    InfrastructureError
        If it is the holding of another process that lives.
    """
    descriptor = _held.pop(token, None)
    if descriptor is not None:
        _leave(descriptor)
        return
    path = _path(folder, host)
    found = _read(path)
    if found is None or found.token != token:
        return
    if found.is_alive:
        raise InfrastructureError(
            f"host {host!r}", f"it is held by {found}", f"Stop it first: kill {found.pid}"
        )
    descriptor = _locked(path, host, found.since)
    _leave(descriptor)


def holdings(folder: Path) -> tuple[Holder, ...]:
    """Each holding that is written down, of the living and of the dead; locks nothing."""
    found = (_read(path) for path in sorted(folder.glob("runoff-*.lock")))
    return tuple(holder for holder in found if holder is not None)


def _path(folder: Path, host: str) -> Path:
    return folder / f"runoff-{host}.lock"


def _locked(path: Path, host: str, now: dt.datetime) -> int:
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        found = _written(descriptor)
        os.close(descriptor)
        raise _refusal(path, host, found, now) from None
    return descriptor


def _opened(path: Path) -> int:
    """The lock's file, made where there is none, open to all users of the machine."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:
                _made(path)
    except OSError as error:
        raise InfrastructureError(
            str(path),
            f"the host's lock cannot be opened: {error.strerror}",
            f"Name a folder that you may write: {FOLDER_VARIABLE}=DIR",
        ) from None


def _made(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _ANYONE)
    except FileExistsError:
        return  # another was faster
    os.fchmod(descriptor, _ANYONE)  # the umask does not shut out other users
    os.close(descriptor)


def _this_process(
    host: str, campaign: str, run: str, now: dt.datetime, expires: dt.datetime
) -> Holder:
    process = process_of(os.getpid())
    return Holder(
        token=secrets.token_hex(_TOKEN_BYTES),
        host=host,
        pid=os.getpid(),
        started_ticks=process.started_ticks if process is not None else 0,
        user=_user(),
        campaign=campaign,
        run=run,
        since=now,
        expires=expires,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"uid {os.getuid()}"


def _write(descriptor: int, holder: Holder) -> None:
    """One line that is whole at any time for those who read it without the lock."""
    line = (json.dumps(holder.to_json()) + "\n").encode()
    os.pwrite(descriptor, line, 0)
    os.ftruncate(descriptor, len(line))
    os.fsync(descriptor)


def _read(path: Path) -> Holder | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    found = _written(descriptor)
    os.close(descriptor)
    return found


def _written(descriptor: int) -> Holder | None:
    line = os.pread(descriptor, _MOST_BYTES, 0).partition(b"\n")[0]
    try:
        return Holder.from_json(json.loads(line))
    except (ValueError, TypeError, KeyError):
        return None


def _leave(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.close(descriptor)


def _refusal(
    path: Path, host: str, found: Holder | None, now: dt.datetime
) -> InfrastructureError:
    where = f"host {host!r}"
    if found is None:
        return InfrastructureError(
            where, f"somebody holds {path} and has not said who", "Try again in a moment"
        )
    if not found.is_alive:
        left = " ".join(map(str, _openers(path))) or "another user's"
        return InfrastructureError(
            where,
            f"{found} is dead, but what it has started still holds the host (pid {left})",
            f"Stop that: kill {left}" if left[0].isdigit() else f"See who has {path} open",
        )
    until = f"{found.expires:%Y-%m-%d %H:%M:%S} UTC"
    late = now > found.expires
    return InfrastructureError(
        where,
        f"it is held by {found}, {'and its time was over at' if late else 'until'} {until}",
        f"Wait for its end, or stop it: kill {found.pid}",
    )


def _openers(path: Path) -> list[int]:
    """Processes that have the file open, where we may see that."""
    status = path.stat()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                files = [each.stat() for each in (entry / "fd").iterdir()]
            except OSError:
                continue
            if any((f.st_dev, f.st_ino) == (status.st_dev, status.st_ino) for f in files):
                found.append(int(entry.name))
    return sorted(found)
