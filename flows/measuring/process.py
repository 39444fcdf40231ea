"""The measuring process, seen from the flow."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
        """Start it on these CPUs (none: on all); what it complains of goes to ``log``."""
        self._log = log
        self._interruption = interruption
        words = [",".join(map(str, cpus))] if cpus else []
        with log.open("wb") as file:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "flows.measuring", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                process_group=0,  # the terminal's Ctrl-C reaches it through us alone
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

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
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def forget_silence(self) -> None:
        """Remove the log of one that has ended without a complaint."""
        if self._log.exists() and not self._log.stat().st_size:
            self._log.unlink()

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
            said = self._log.read_bytes()[-_LAST_WORDS:].decode(errors="replace").strip()
            last = said.splitlines()[-1] if said else "it said nothing"
            raise InfrastructureError(
                "the measuring process", f"ended with code {code}: {last}", f"Read {self._log}"
            ) from None


def _closed(close: Callable[[], None]) -> None:
    try:
        close()
    except BrokenPipeError:
        return  # it has ended already
