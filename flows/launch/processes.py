"""Processes of this machine as the kernel lists them, and which of them a launch has started.

A server's children may leave its process group, its session, or overwrite their environment
(some engines do each of these), but not all three at once.
Source of the fields: proc(5).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = "RUNOFF_LAUNCH"
NO_LEADER: Final = -1  # a family known by its mark alone
_PROC: Final = Path("/proc")
# fields of /proc/PID/stat after the name
_STATE, _PARENT, _GROUP, _SESSION, _THREADS, _STARTED = 0, 1, 2, 3, 17, 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One living process; ``started_ticks`` since boot tells it from a later one of its id."""

    pid: int
    group: int
    session: int
    state: str
    started_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a launch has started: its leader's id and the mark in the environment."""

    leader: int
    mark: str

    def members(self) -> tuple[Process, ...]:
        """Living processes of the leader's group or session, or with its mark."""
        return tuple(process for process in living() if self.owns(process))

    def owns(self, process: Process) -> bool:
        """Whether this launch has started it."""
        return self.leader in (process.group, process.session) or self._is_marked(process)

    def _is_marked(self, process: Process) -> bool:
        word = f"{MARK}={self.mark}".encode()
        return word in _read(process.pid, "environ").split(b"\0")


def living() -> Iterator[Process]:
    """All processes that have not ended."""
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            process = process_of(int(entry.name))
            if process is not None:
                yield process


def process_of(pid: int) -> Process | None:
    """The living process of this id."""
    fields = _fields(pid)
    if len(fields) <= _STARTED or _is_gone(fields):
        return None
    return Process(
        pid=pid,
        group=int(fields[_GROUP]),
        session=int(fields[_SESSION]),
        state=fields[_STATE].decode(),
        started_ticks=int(fields[_STARTED]),
    )


def _is_gone(fields: list[bytes]) -> bool:
    """Whether it holds no memory, no socket and no device any more.

    A zombie does not, unless it is only the first of several threads that has ended.
    """
    state = fields[_STATE].decode()
    return state == "X" or (state == "Z" and int(fields[_THREADS]) <= 1)


def parent_of(pid: int) -> int | None:
    """Who started a process, or took it over; None where there is none of this id."""
    fields = _fields(pid)
    return int(fields[_PARENT]) if len(fields) > _PARENT else None


def described(pid: int) -> str:
    """A process for a person: id and program, without arguments (they may hold secrets)."""
    name = _read(pid, "comm").decode(errors="replace").strip()
    return f"pid {pid} ({name})" if name else f"pid {pid}"


def sockets_of(pid: int) -> frozenset[int]:
    """Inodes of the sockets that a process holds; empty where we may not look."""
    found = set()
    try:
        for entry in (_PROC / str(pid) / "fd").iterdir():
            target = _link(entry)
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        return frozenset()
    return frozenset(found)


def age_s(process: Process) -> float:
    """Seconds since a process was started, to a hundredth."""
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return now_s - process.started_ticks / os.sysconf("SC_CLK_TCK")


def killed_for_memory() -> int | None:
    """How many processes this kernel has killed for want of memory since boot."""
    try:
        lines = (_PROC / "vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    counts = (line.split() for line in lines if line.startswith("oom_kill "))
    return next((int(words[1]) for words in counts), None)


def _fields(pid: int) -> list[bytes]:
    # The name may hold blanks and brackets: the fields begin after the last bracket.
    return _read(pid, "stat").rpartition(b")")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _link(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""
