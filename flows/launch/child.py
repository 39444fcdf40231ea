"""The server's process: in a session of its own, with its output in a file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from flows.errors import LaunchError
from flows.launch.clock import Clock
from flows.launch.processes import MARK, Family

_OURS_ALONE: Final = 0o600  # until it is sealed the log may hold what a server should not say


@dataclass(slots=True, kw_only=True)
class Child:
    """The started leader. It stays a zombie until ``reap``, so its id is nobody else's."""

    popen: subprocess.Popen[bytes]
    family: Family
    log: Path
    started_ns: int
    started_at: datetime

    @property
    def pid(self) -> int:
        """The leader's process id, which is its group's and its session's too."""
        return self.popen.pid

    def exit_code(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it lives."""
        if self.popen.returncode is not None:
            return self.popen.returncode
        seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return None
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def reap(self) -> int:
        """Give the id back to the kernel once the leader has ended."""
        return self.popen.wait()


def start(
    argv: Sequence[str], folder: Path, *, log: Path, env: Mapping[str, str], clock: Clock
) -> Child:
    """A program started in ``folder``, in a session of its own, with its output in a file.

    ``env`` holds the mark by which its processes are found.

    Raises
    ------
    LaunchError
        If the program is not there or cannot be run.
    """
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, _OURS_ALONE)
    started_ns, started_at = clock.monotonic_ns(), clock.utc()
    try:
        popen = subprocess.Popen(  # noqa: S603 - a plan's own words, no shell
            argv,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
        )
    except OSError as error:
        log.unlink()
        raise _not_startable(argv[0], error) from None
    finally:
        os.close(descriptor)
    return Child(
        popen=popen,
        family=Family(leader=popen.pid, mark=env[MARK]),
        log=log,
        started_ns=started_ns,
        started_at=started_at,
    )


def _not_startable(program: str, error: OSError) -> LaunchError:
    if isinstance(error, FileNotFoundError):
        return LaunchError(
            "program not found",
            program,
            "there is no such program",
            "Install it with the plan's install script, or say where it is",
        )
    return LaunchError(
        "program not runnable",
        program,
        f"it cannot be run: {error.strerror}",
        "Check its permissions, and that it is built for this machine",
    )
