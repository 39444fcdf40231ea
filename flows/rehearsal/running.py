"""A rehearsal server in a process of its own, as a handle."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from flows.rehearsal.settings import Settings
from flows.rehearsal.truth import Truth, read_truth

STOP_TIMEOUT_S = 10.0


class Running:
    """A started server: its address, its process, and after the end its truth.

    A context manager: leaving it stops the server and removes its log, and its truth unless
    the settings named a file for it. A server whose starter has died ends too: it holds one
    end of a pipe that only the starter keeps open.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder = TemporaryDirectory(prefix="runoff-rehearsal-")
        folder = Path(self._folder.name)
        self._truth_path = Path(settings.truth or folder / "truth.jsonl")
        self._log_path = folder / "stderr.log"
        lease, self._lease = os.pipe()
        with self._log_path.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own module, no input in argv
                _command(lease),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                pass_fds=(lease,),
            )
        os.close(lease)
        self._send(replace(settings, truth=str(self._truth_path)))
        self.url = self._address()

    @property
    def port(self) -> int:
        """Port on 127.0.0.1."""
        return int(self.url.rpartition(":")[2])

    def log(self) -> str:
        """What the server wrote to its standard error so far."""
        return self._log_path.read_text(encoding="utf-8")

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Ask the server to end, kill it after the timeout; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def truth(self) -> Truth:
        """Stop the server and return what it did."""
        self.stop()
        return read_truth(self._truth_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        os.close(self._lease)
        self._folder.cleanup()

    def _send(self, settings: Settings) -> None:
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), self.process.stdin as stream:
                stream.write(json.dumps(settings.to_json()))

    def _address(self) -> str:
        """URL from the first line that holds one; empty when the process has ended."""
        for line in self.process.stdout or ():
            if " on http://" in line:
                return line.split(" on ", 1)[1].strip()
        return ""


def _command(lease: int) -> list[str]:
    module = [sys.executable, "-P", "-m", "flows.rehearsal"]
    return [*module, "--settings", "-", "--lease", str(lease)]


def start(settings: Settings | None = None) -> Running:
    """Start a server and wait until it has an address; use as a context manager.

    With `while_loading: refuse` the address is known before the port is open.
    """
    running = Running(settings or Settings())
    if running.url:
        return running
    with running:
        code = running.stop()
        raise RuntimeError(f"the rehearsal server ended with code {code}: {running.log()}")
