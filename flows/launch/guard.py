"""A process that ends a server when whoever launched it has died.

``finally`` does not run on SIGKILL, on a lost terminal or out of memory. The guard holds one
end of a pipe whose other end only the launcher keeps open, and sleeps; the pipe's end without
a word is the launcher's death. It is on duty before the server exists, knowing it by its mark,
and is told the leader's id afterwards. ``python -P -m flows.launch.guard DESCRIPTOR ORDERS``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Final, Self

from flows.launch.clock import SystemClock
from flows.launch.ending import Step, end
from flows.launch.processes import Family

CLEANUP_S: Final = 60.0
_DISMISSED: Final = b"."
_READ_BYTES: Final = 4096
_BIRTH_S: Final = 0.1  # a server whose launcher died at its start becomes itself meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Whom to end, how, and what to run afterwards."""

    family: Family
    manner: tuple[Step, ...]
    cleanup: tuple[str, ...]

    def text(self) -> str:
        """The orders as one word of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Self:
        """Orders from their text."""
        found = json.loads(text)
        return cls(
            family=Family(**found["family"]),
            manner=tuple(Step(**step) for step in found["manner"]),
            cleanup=tuple(found["cleanup"]),
        )


class Guard:
    """A guard on duty, seen from the launcher, whose environment it shares."""

    def __init__(self, orders: Orders) -> None:
        self._is_dismissed = False
        lease, self._lease = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "flows.launch.guard", str(lease), orders.text()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(lease,),
                start_new_session=True,
            )
        except OSError:
            os.close(self._lease)
            raise
        finally:
            os.close(lease)

    def is_on_duty(self) -> bool:
        """Whether it lives."""
        return self._process.poll() is None

    def follow(self, leader: int) -> None:
        """Tell it the leader, whose group and session are the server's without a mark too."""
        self._say(b"%d\n" % leader)

    def dismiss(self) -> None:
        """Tell it that all is over, and wait until it has gone; nothing the second time."""
        if self._is_dismissed:
            return
        self._is_dismissed = True
        self._say(_DISMISSED)
        os.close(self._lease)
        self._process.wait()

    def _say(self, words: bytes) -> None:
        with suppress(BrokenPipeError):
            os.write(self._lease, words)


def run_cleanup(cleanup: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Run what a plan wants after every stop; what went wrong, or None."""
    if not cleanup:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the plan's own words
            cleanup, env=dict(env), capture_output=True, timeout=CLEANUP_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{cleanup[0]}: {error}"
    said = done.stderr.decode(errors="replace").strip()
    return (
        f"{cleanup[0]} ended with code {done.returncode}: {said}" if done.returncode else None
    )


def main(arguments: Sequence[str]) -> int:
    """Sleep until the launcher is done or dead; returns the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    lease, orders = int(arguments[0]), Orders.read(arguments[1])
    said = b""
    while not said.endswith(_DISMISSED) and (words := os.read(lease, _READ_BYTES)):
        said += words
    if not said.endswith(_DISMISSED):
        clock = SystemClock()
        clock.sleep(0 if said else _BIRTH_S)
        leader = int(said) if said else orders.family.leader
        end(replace(orders.family, leader=leader), orders.manner, clock)
        run_cleanup(orders.cleanup, os.environ)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
