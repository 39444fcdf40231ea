"""The end of all that a launch has started: asked, told, killed, and looked after."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from flows.launch.clock import Clock
from flows.launch.processes import Family, Process

KILL_S: Final = 10.0  # the kernel needs a while to tear down gigabytes
SECOND_GRACE_S: Final = 5.0
_LOOK_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A signal by name, and how long it may take to work."""

    signal: str
    patience_s: float


KILL: Final = (Step(signal="SIGKILL", patience_s=KILL_S),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The signals that it took, and who is still there (nobody, unless the kernel hangs)."""

    signals: tuple[str, ...]
    left: tuple[Process, ...]
    duration_ns: int


def steps(first: str, grace_s: float, second: str) -> tuple[Step, ...]:
    """The first signal with its grace, the second one with a short one, then SIGKILL."""
    asked = [Step(signal=first, patience_s=grace_s)]
    if second != "SIGKILL":
        asked.append(Step(signal=second, patience_s=SECOND_GRACE_S))
    return (*asked, *KILL)


def end(
    family: Family,
    manner: Sequence[Step],
    clock: Clock,
    meanwhile: Callable[[], None] = lambda: None,
) -> Ended:
    """Signal the whole family step by step until none of it lives.

    ``meanwhile`` is called while waiting.
    """
    began_ns = clock.monotonic_ns()
    given: list[str] = []
    members = family.members()
    for step in manner:
        if not members:
            break
        given.append(step.signal)
        members = _signalled(family, members, step, clock, meanwhile)
    return Ended(
        signals=tuple(given),
        left=members,
        duration_ns=clock.monotonic_ns() - began_ns,
    )


def _signalled(
    family: Family,
    members: tuple[Process, ...],
    step: Step,
    clock: Clock,
    meanwhile: Callable[[], None],
) -> tuple[Process, ...]:
    """Who is left after one signal and its patience."""
    number = signal.Signals[step.signal]
    until_ns = clock.monotonic_ns() + round(step.patience_s * 1e9)
    _send(family, members, number)
    while members and clock.monotonic_ns() < until_ns:
        clock.sleep(_LOOK_S)
        meanwhile()
        members = family.members()
        if number == signal.SIGKILL:
            _send(family, members, number)  # those that were born in between
    return members


def _send(family: Family, members: Sequence[Process], number: signal.Signals) -> None:
    """One signal for the group, and one for each member that has left it."""
    if any(member.group == family.leader for member in members):
        with suppress(ProcessLookupError):
            os.killpg(family.leader, number)
    for member in members:
        if member.group != family.leader:
            with suppress(ProcessLookupError):
                os.kill(member.pid, number)
