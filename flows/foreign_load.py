"""What else uses this host: a look before a measurement, and a sampler beside one.

Ours are this process, what it has started, and the ids that a caller adds. A process of ours
that ended between two readings is counted by the one that waited for it. What else came and
went shows only in the sum: its time is told as ``hidden``, as is that of other containers on
the host.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from flows.errors import InfrastructureError
from flows.host_counters import Counters, Key, counters

LOOK_S: Final = 1.0
EVERY_S: Final = 1.0
LEAST_CORES: Final = 0.10  # a tenth of a core is what an idle desktop uses
MOST_SHARE: Final = 0.02  # of all CPUs, on hosts with many
MOST_STEAL: Final = 0.05  # over one second; a cell is judged by a finer limit
_NAMED: Final = 5
_PEAK_TICKS: Final = os.sysconf("SC_CLK_TCK") // 4  # a shorter sample is too coarse to judge
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

Now = Callable[[], int]
Read = Callable[[int], Counters]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A process that is not ours, and the cores that it used on average."""

    pid: int
    name: str
    cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoad:
    """Who used the host over ``seconds``: averages in cores (1.0 is one CPU fully used).

    ``kernel_cores`` is work of the kernel's own threads and interrupts, for whom it may be;
    ``hidden_cores`` what no process that was seen has used. ``steal_share`` and
    ``foreign_share`` are shares of all CPUs; the second has what strangers and hidden ones
    used. ``major_faults`` and ``swapped_in_bytes`` are counts: of our processes, of the host.
    ``peak_foreign_share`` and ``peak_steal_share`` are those of the worst of ``samples``.
    """

    seconds: float
    samples: int
    cpus: int
    ours_cores: float
    strangers_cores: float
    hidden_cores: float
    kernel_cores: float
    foreign_share: float
    peak_foreign_share: float
    steal_share: float
    peak_steal_share: float
    major_faults: int
    swapped_in_bytes: int
    load_1min: float
    strangers: tuple[Stranger, ...]

    def to_json(self) -> dict[str, Any]:
        """The load as strict JSON values, for a replication's telemetry."""
        return asdict(self)


class Sampler:
    """Adds up the host's load from reading to reading; each reading takes milliseconds.

    ``roots`` are processes whose descendants are ours beside those of this process. A process
    that was ours once stays ours, also when its parent has died.
    """

    def __init__(
        self, roots: Iterable[int] = (), *, now: Now = time.monotonic_ns, read: Read = counters
    ) -> None:
        self._roots = {os.getpid(), *roots}
        self._now = now
        self._read = read
        self._last = read(now())
        self._ours: set[Key] = set(self._last.kin(self._roots))
        self._sum = _Sum(cpus=self._last.cpus)

    def add_root(self, pid: int) -> None:
        """Count this process and its descendants as ours from the next reading on."""
        self._roots.add(pid)

    def sample(self) -> None:
        """Take a reading and add what happened since the last one."""
        found = self._read(self._now())
        living = {key[0] for key in self._ours if key in found.tasks}
        self._ours |= found.kin(self._roots | living)
        if found.passed > self._last.passed:
            self._sum.add(self._last, found, self._ours)
            self._last = found

    def load(self) -> HostLoad:
        """The load from the first reading to the last; the caller samples before."""
        return self._sum.load()


@dataclass(slots=True, kw_only=True)
class _Sum:
    """Ticks of all intervals so far."""

    cpus: int
    samples: int = 0
    nanoseconds: int = 0
    passed: int = 0
    used: int = 0
    ours_alive: int = 0
    ours_whole: int = 0
    strangers: int = 0
    kernel_tasks: int = 0
    interrupts: int = 0
    stolen: int = 0
    faults: int = 0
    pages: int = 0
    load_1min: float = 0.0
    peak_foreign: float = 0.0
    peak_steal: float = 0.0
    named: Counter[tuple[int, str]] = field(default_factory=Counter)

    def add(self, first: Counters, last: Counters, ours: set[Key]) -> None:
        passed, stolen = last.passed - first.passed, max(0, last.stolen - first.stolen)
        before = self.strangers
        used, seen = last.used - first.used, self._add_tasks(first, last, ours)
        self.used += used
        self.interrupts += max(0, last.interrupts - first.interrupts)
        self.samples += 1
        self.nanoseconds += last.at_ns - first.at_ns
        self.passed += passed
        self.stolen += stolen
        self.pages += max(0, last.swapped_in_pages - first.swapped_in_pages)
        self.load_1min = last.load_1min
        if passed >= _PEAK_TICKS * self.cpus:
            foreign = self.strangers - before + max(0, used - seen)
            self.peak_foreign = max(self.peak_foreign, foreign / passed)
            self.peak_steal = max(self.peak_steal, stolen / passed)

    def _add_tasks(self, first: Counters, last: Counters, kin: set[Key]) -> int:
        """Ticks of all tasks in the interval, each added to its party."""
        seen = ours_alive = 0
        for key, task in last.tasks.items():
            old = first.tasks.get(key)
            ticks = task.ticks - (old.ticks if old else 0)
            seen += ticks
            if task.is_kernel:
                self.kernel_tasks += ticks
            elif key in kin:
                ours_alive += ticks
                self.faults += task.major_faults - (old.major_faults if old else 0)
            else:
                self.strangers += ticks
                self.named[key[0], task.name] += ticks
        # the ticks of one that has ended went to its parent; to init where that ended before
        whole = _whole(last, kin) - _whole(first, kin)
        self.ours_alive += ours_alive
        self.ours_whole += whole
        return seen + max(0, whole - ours_alive)

    def load(self) -> HostLoad:
        passed = self.passed or 1
        # over all readings: what one misses of a process that just ends, the next one has
        ours = max(self.ours_alive, self.ours_whole)
        hidden = max(0, self.used - self.strangers - self.kernel_tasks - ours)
        foreign, steal = (self.strangers + hidden) / passed, self.stolen / passed

        def share(value: float) -> float:
            return round(min(1.0, value), 6)  # ticks of tasks and of the whole differ a little

        def cores(ticks: int) -> float:
            return round(ticks * self.cpus / passed, 4)

        return HostLoad(
            seconds=round(self.nanoseconds / 1e9, 3),
            samples=self.samples,
            cpus=self.cpus,
            ours_cores=cores(ours),
            strangers_cores=cores(self.strangers),
            hidden_cores=cores(hidden),
            kernel_cores=cores(self.kernel_tasks + self.interrupts),
            foreign_share=share(foreign),
            peak_foreign_share=share(max(foreign, self.peak_foreign)),
            steal_share=share(steal),
            peak_steal_share=share(max(steal, self.peak_steal)),
            major_faults=self.faults,
            swapped_in_bytes=self.pages * _PAGE,
            load_1min=self.load_1min,
            strangers=tuple(
                Stranger(pid=pid, name=name, cores=cores(ticks))
                for (pid, name), ticks in self.named.most_common(_NAMED)
                if ticks
            ),
        )


def _whole(found: Counters, kin: set[Key]) -> int:
    """What these and all whom they have waited for have used so far, in ticks."""
    tasks = (found.tasks[key] for key in kin if key in found.tasks)
    return sum(task.ticks + task.reaped for task in tasks)


def look(roots: Iterable[int] = (), *, seconds: float = LOOK_S) -> HostLoad:
    """The host's load over about a second."""
    sampler = Sampler(roots)
    time.sleep(seconds)
    sampler.sample()
    return sampler.load()


def most_cores(cpus: int) -> float:
    """Cores that others may use at most: a tenth of one, or 2% of a large host's."""
    return max(LEAST_CORES, MOST_SHARE * cpus)


def objections(load: HostLoad) -> tuple[str, ...]:
    """Why a measurement would be disturbed on this host; empty where it is quiet."""
    found = []
    foreign, limit = load.strangers_cores + load.hidden_cores, most_cores(load.cpus)
    if foreign > limit:
        named = [f"{each.name} (pid {each.pid}) {each.cores:.2f}" for each in load.strangers]
        if load.hidden_cores > limit / 2:
            named.append(f"short-lived or hidden processes {load.hidden_cores:.2f}")
        found.append(
            f"others use {foreign:.2f} of its {load.cpus} cores, at most {limit:.2f} may be: "
            + ", ".join(named)
        )
    if load.steal_share > MOST_STEAL:
        found.append(
            f"its hypervisor takes {load.steal_share:.0%} of its time, at most "
            f"{MOST_STEAL:.0%} may be"
        )
    if load.swapped_in_bytes:
        found.append(f"it reads {load.swapped_in_bytes} bytes back from swap")
    return tuple(found)


def require_quiet(host: str, load: HostLoad) -> None:
    """Refuse a busy host.

    Raises
    ------
    InfrastructureError
        With the processes that use it, and how much of it.
    """
    found = objections(load)
    if found:
        pids = _pids(load.strangers, most_cores(load.cpus))
        raise InfrastructureError(
            f"host {host!r}",
            f"it is busy: {'; '.join(found)}",
            f"Stop them{f' (kill {pids})' if pids else ''}, or wait until they are done",
        )


def _pids(strangers: Sequence[Stranger], limit: float) -> str:
    return " ".join(str(each.pid) for each in strangers if each.cores > limit / 2)


@contextmanager
def sampled(sampler: Sampler, every_s: float = EVERY_S) -> Iterator[Sampler]:
    """Samples in a thread until the block ends, and once more at its end."""
    is_over = threading.Event()

    def keep_sampling() -> None:
        while not is_over.wait(every_s):
            sampler.sample()

    thread = threading.Thread(target=keep_sampling, name="host load", daemon=True)
    thread.start()
    try:
        yield sampler
    finally:
        is_over.set()
        thread.join()
        sampler.sample()
