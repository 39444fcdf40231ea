"""A rehearsal server in a process of its own, as a handle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from flows.rehearsal.settings import Settings
from flows.rehearsal.truth import Truth, read_truth

STOP_TIMEOUT_S = 10.0


class Running:
    """A started server: its address, its process, and after the end its truth."""

    def __init__(
        self, process: subprocess.Popen[str], log: IO[str], truth_path: Path, url: str
    ) -> None:
        self.url = url
        self.process = process
        self._log = log
        self._truth_path = truth_path

    @property
    def port(self) -> int:
        """Port on 127.0.0.1."""
        return int(self.url.rpartition(":")[2])

    def log(self) -> str:
        """What the server wrote to its standard error so far."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

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
        self._log.close()
        self._truth_path.unlink(missing_ok=True)


def start(settings: Settings | None = None) -> Running:
    """Start a server and wait until it has an address; use as a context manager.

    With `while_loading: refuse` the address is known before the port is open.
    """
    settings = settings or Settings()
    with tempfile.NamedTemporaryFile(prefix="truth-", suffix=".jsonl", delete=False) as file:
        truth_path = Path(settings.truth or file.name)
    settings = replace(settings, truth=str(truth_path))
    log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.rehearsal", "--settings", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    process.stdin.write(json.dumps(settings.to_json()))
    process.stdin.close()
    url = _address(process.stdout)
    running = Running(process, log, truth_path, url)
    if not url:
        code = running.stop()
        raise RuntimeError(f"the rehearsal server ended with code {code}: {running.log()}")
    return running


def _address(lines: IO[str]) -> str:
    for line in lines:
        if " on http://" in line:
            return line.split(" on ", 1)[1].strip()
    return ""
