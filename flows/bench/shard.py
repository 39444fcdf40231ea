"""One shard of the load: a process of its own that needs a plan file and nothing else.

Where the shards of a cell run is a ``Place``: here, on another host beside the server, or on
the workers of a Dask cluster.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from flows.bench.endings import endings_held, endings_interrupt
from flows.errors import InfrastructureError

_PATIENCE_S: Final = 3600.0  # nothing is to be done while the shards run
LAST_WORDS: Final = 2_000  # bytes of what a failed process said


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A plan file, and where its raw file goes."""

    plan: Path
    raw: Path

    @property
    def log(self) -> Path:
        """What the process says on its standard error."""
        return self.raw.with_suffix(".log")


class OpenPlace(Protocol):
    """A machine on which shards can be run now."""

    def now_ns(self) -> int:
        """The machine's monotonic clock, by which the shards stamp; asked for often."""

    def run(self, jobs: Sequence[Job], *, meanwhile: Callable[[], float]) -> bool:
        """As ``run_shards`` does; the raw files are here afterwards."""

    def foreign(self) -> Mapping[str, Any] | None:
        """Who else used that machine beside the last load; None where its caller must look."""


class Place(Protocol):
    """Where the shards of a cell run; a value that can be handed to another process."""

    def opened(self) -> AbstractContextManager[OpenPlace]:
        """The machine, reached; left with the block."""


@dataclass(frozen=True, slots=True)
class Here:
    """This machine."""

    @contextmanager
    def opened(self) -> Iterator[OpenPlace]:
        """Itself."""
        yield self

    def now_ns(self) -> int:
        """The monotonic clock of this machine."""
        return time.monotonic_ns()

    def run(self, jobs: Sequence[Job], *, meanwhile: Callable[[], float]) -> bool:
        """Processes of this machine."""
        return run_shards(jobs, meanwhile=meanwhile)

    def foreign(self) -> None:
        """Whoever measures here looks."""
        return


HERE: Final = Here()


def run_shard(plan_path: Path, raw_path: Path) -> None:
    """Send one plan and write its raw file; any scheduler may call this on any host."""
    run_shards([Job(plan=plan_path, raw=raw_path)])


def run_shards(
    jobs: Sequence[Job],
    *,
    meanwhile: Callable[[], float] = lambda: _PATIENCE_S,
) -> bool:
    """Run shards side by side; True if interrupted.

    ``meanwhile`` is called while they run and says in how many seconds to call it again.

    Ctrl-C (or SIGTERM, SIGHUP) is handed on once, so that each shard writes what it has
    measured; a second one kills them. Raises InfrastructureError where a shard wrote no
    raw file.
    """
    if not hasattr(select, "epoll"):
        raise InfrastructureError(
            "the load process",
            f"{sys.platform} has no epoll, by which it reads with the kernel's own time stamps",
            "Run the load on a Linux host",
        )
    processes: list[subprocess.Popen[bytes]] = []
    interrupted = False
    with endings_interrupt():
        try:
            with endings_held():  # a process that nobody knows of would go on alone
                processes.extend(start_shard(job) for job in jobs)
            _wait(processes, meanwhile)
        except KeyboardInterrupt:
            interrupted = True
            _hand_on(processes)
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
    for job, process in zip(jobs, processes, strict=True):
        if not job.raw.exists():
            if interrupted:
                raise KeyboardInterrupt  # it had not begun: there is nothing to keep
            raise _silent(job, process.returncode)
    return interrupted


def start_shard(job: Job, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """The load process, started, with these descriptors of ours.

    -P keeps a folder of the user's that is named like ours out of its way; in a process
    group of its own the terminal's Ctrl-C reaches it through us alone. It knows us, so that
    it does not go on if we are killed.
    """
    arguments = [str(job.plan), str(job.raw), str(os.getpid())]
    with job.log.open("wb") as log:
        return subprocess.Popen(  # noqa: S603  (our own interpreter and module)
            [sys.executable, "-P", "-m", "flows.load", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
            pass_fds=pass_fds,
        )


def _wait(processes: Sequence[subprocess.Popen[bytes]], meanwhile: Callable[[], float]) -> None:
    again_s = meanwhile()
    for process in processes:
        while True:
            try:
                process.wait(again_s)
                break
            except subprocess.TimeoutExpired:
                again_s = meanwhile()


def _hand_on(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in processes:
        process.wait()


def _silent(job: Job, code: int) -> InfrastructureError:
    said = job.log.read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
    last = said.splitlines()[-1] if said else "it said nothing"
    return InfrastructureError(
        "the load process", f"ended with code {code} and no raw file: {last}", ""
    )
