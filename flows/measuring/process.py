"""The measuring process, seen from the flow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flows.bench.probe import Survey
from flows.errors import InfrastructureError
from flows.interruption import Interrupted as CampaignInterrupted
from flows.interruption import Interruption
from flows.measuring.answers import Failed, Interrupted, Value
from flows.measuring.frames import receive, send
from flows.measuring.jobs import Ask, Cell, Job, Measured

_LAST_WORDS = 2_000
_END_S = 10.0
_AGAIN_S = 5.0  # longer than the end of a load takes


class MeasuringProcess:
    """A started one; leaving it as a context manager ends it, with any load that it runs."""

    def __init__(self, log: Path, interruption: Interruption, cpus: Sequence[int] = ()) -> None:
        """Start it on these CPUs (none: on all); what it complains of is kept in ``log``."""
        self.cpus = tuple(cpus)
        self._log = log
        self._interruption = interruption
        self._was_told = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._kept = 0
        words = [",".join(map(str, cpus))] if cpus else []
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "flows.measuring", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            process_group=0,  # the terminal's Ctrl-C reaches it through us alone
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_fit(self) -> bool:
        """Whether it can measure for another launch: one that was told to stop may yet end."""
        return not self._was_told and self._process.poll() is None

    def turn_to(self, log: Path) -> None:
        """Keep in ``log`` what it complains of from now on."""
        self._log = log

    def ask(self, job: Ask) -> Survey:
        """How the server counts; RunoffError where it cannot be measured."""
        found: Survey = self._done(job)
        return found

    def measure(self, job: Cell) -> Measured:
        """One replication, measured and on the disk."""
        measured: Measured = self._done(job)
        return measured

    def stop_load(self) -> None:
        """Tell it to end what it does, as Ctrl-C would; does not wait."""
        self._was_told = True
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def keep_words(self) -> None:
        """Add to the log what it has complained of; there is none of one that did not."""
        descriptor = self._said.fileno()
        new = os.pread(descriptor, os.fstat(descriptor).st_size - self._kept, self._kept)
        if new:
            with suppress(OSError), self._log.open("ab") as log:  # a full disk ends nothing
                log.write(new)
                self._kept += len(new)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                _closed(stream.close)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.keep_words()
        self._said.close()

    def _done(self, job: Job) -> Any:
        """The job's value; raises what it raised, or CampaignInterrupted."""
        with self._interruption.telling(self.stop_load), self._told_again():
            answer = self._exchanged(job)
        match answer:
            case Value(value):
                return value
            case Failed():
                raise answer.error()
            case Interrupted():
                raise CampaignInterrupted("the load was stopped")
        raise TypeError(f"{answer!r} is no answer")

    @contextmanager
    def _told_again(self) -> Iterator[None]:
        """Within the block an end that was asked for is told every few seconds.

        One signal alone can come while a load is only starting, and be lost.
        """
        is_done = threading.Event()

        def tell() -> None:
            while not is_done.wait(_AGAIN_S):
                if self._interruption.is_asked:
                    self.stop_load()

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            is_done.set()
            teller.join()

    def _exchanged(self, job: Job) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise TypeError("the process was started without pipes")
        try:
            send(stdin.fileno(), job)
            return receive(stdout.fileno())
        except (BrokenPipeError, EOFError):
            self._interruption.check()
            code = self._process.wait()
            self.keep_words()
            there = self._said.fileno()
            since = max(0, os.fstat(there).st_size - _LAST_WORDS)
            said = os.pread(there, _LAST_WORDS, since)
            words = said.decode(errors="replace").split("\n")
            last = next((each for each in reversed(words) if each.strip()), "it said nothing")
            raise InfrastructureError(
                "the measuring process", f"ended with code {code}: {last}", f"Read {self._log}"
            ) from None


def _closed(close: Callable[[], None]) -> None:
    try:
        close()
    except BrokenPipeError:
        return  # it has ended already
