"""Counters of the kernel that tell who uses this host's CPUs, from /proc alone (proc(5))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_KERNEL_THREAD: Final = 0x0020_0000  # PF_KTHREAD of the flags
_FIELDS: Final = 20  # of /proc/PID/stat behind the name, as far as they are used here
_USED: Final = (0, 1, 2)  # user, nice, system of /proc/stat
_INTERRUPTS: Final = (5, 6)
_STEAL: Final = 7
_ALL: Final = range(8)  # what follows is contained in the first two

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Task:
    """One process: whose child it is, and what it has used so far, in ticks and faults.

    ``reaped`` are the ticks of its children that have ended and of theirs, as far as each was
    waited for.
    """

    parent: int
    group: int
    session: int
    name: str
    is_kernel: bool
    ticks: int
    reaped: int
    major_faults: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """All counters at one time; tasks by process id and start, which no two ever share.

    ``used`` are ticks of all CPUs in processes and kernel, ``interrupts`` those in interrupts,
    ``stolen`` those that the hypervisor gave to others, ``passed`` all that went by.
    """

    at_ns: int
    cpus: int
    used: int
    interrupts: int
    stolen: int
    passed: int
    swapped_in_pages: int
    load_1min: float
    tasks: Mapping[Key, Task]

    def kin(self, roots: Iterable[int]) -> frozenset[Key]:
        """The processes of these ids, of their groups and sessions, and all descendants."""
        known = set(roots)
        parents = {pid: task.parent for (pid, _), task in self.tasks.items()}
        return frozenset(
            (pid, started)
            for (pid, started), task in self.tasks.items()
            if {task.group, task.session} & known or _descends(pid, parents, known)
        )


def counters(now_ns: int, proc: Path = PROC) -> Counters:
    """The counters as they stand; a process that ends meanwhile is left out."""
    lines = (proc / "stat").read_text(encoding="ascii").splitlines()
    ticks = [int(word) for word in lines[0].split()[1:]]
    return Counters(
        at_ns=now_ns,
        cpus=sum(line[:4] > "cpu" and line.startswith("cpu") for line in lines) - 1,
        used=sum(ticks[index] for index in _USED),
        interrupts=sum(ticks[index] for index in _INTERRUPTS),
        stolen=ticks[_STEAL],
        passed=sum(ticks[index] for index in _ALL),
        swapped_in_pages=_swapped_in(proc),
        load_1min=float((proc / "loadavg").read_text(encoding="ascii").split()[0]),
        tasks=dict(_tasks(proc)),
    )


def _descends(pid: int, parents: Mapping[int, int], roots: set[int]) -> bool:
    seen: set[int] = set()
    while pid and pid not in seen:  # a pid that was reused while we read could close a ring
        if pid in roots:
            return True
        seen.add(pid)
        pid = parents.get(pid, 0)
    return False


def _tasks(proc: Path) -> Iterable[tuple[Key, Task]]:
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_bytes()
            except OSError:
                continue
            head, _, tail = text.rpartition(b")")
            words = tail.split()
            if len(words) >= _FIELDS:
                name = head.partition(b"(")[2].decode(errors="replace")
                yield (int(entry.name), int(words[19])), _task(name, words)


def _task(name: str, words: list[bytes]) -> Task:
    return Task(
        parent=int(words[1]),
        group=int(words[2]),
        session=int(words[3]),
        name=name,
        is_kernel=bool(int(words[6]) & _KERNEL_THREAD),
        ticks=int(words[11]) + int(words[12]),
        reaped=int(words[13]) + int(words[14]),
        major_faults=int(words[9]),
    )


def _swapped_in(proc: Path) -> int:
    lines = (proc / "vmstat").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("pswpin ")), 0)
