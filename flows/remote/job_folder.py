"""The files of one job on its host, and what they say together of how it goes.

| file | written by | when |
|---|---|---|
| ``order.json`` | agent | before the start; it may hold secrets and goes with the start |
| ``state.json`` | keeper | with its own id before the start, with the job's after it |
| ``log`` | the job | its output |
| ``lease`` | agent | at the start and whenever somebody asks: the time, monotonic |
| ``stop.json`` | agent | to have it stopped, and how |
| ``ended.json`` | keeper | when nothing of it is left |
| ``lock`` | keeper | held while it lives, so that no job has two |

Runs on the host: standard library only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from flows.launch.ending import KILL, Step
from flows.launch.processes import process_of

ORDER: Final = "order.json"
STATE: Final = "state.json"
LOG: Final = "log"
LEASE: Final = "lease"
STOP: Final = "stop.json"
ENDED: Final = "ended.json"
LOCK: Final = "lock"
SERVER: Final = "server-"  # begins the name of a server's job; a launch's name follows

_OURS_ALONE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run, where, and how it ends.

    ``lease_s``: without a question for so long it is stopped. ``manner`` are the signals of an
    end. ``cpus`` hold it to these CPUs (none: all). ``while_lives`` is the folder of another
    job; when that one ends, this one is interrupted once.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    log: str
    lease_s: float
    manner: tuple[Step, ...] = KILL
    cleanup: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    while_lives: str | None = None
    note: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The order as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """An order from its plain values."""
        return cls(
            **{
                **plain,
                "argv": tuple(plain["argv"]),
                "manner": manner_of(plain["manner"]),
                "cleanup": tuple(plain["cleanup"]),
                "cpus": tuple(plain["cpus"]),
            }
        )


def manner_of(plain: list[Mapping[str, Any]]) -> tuple[Step, ...]:
    """Steps of an end from their plain values."""
    return tuple(Step(**step) for step in plain)


def state_of(folder: Path) -> dict[str, Any]:
    """How a job goes, by its files: ``stage`` and whatever is known beside it.

    ``absent``, ``ordered``, ``starting``, ``running``, ``ended``, or ``lost``: it was started,
    its keeper is gone, and nobody wrote down an end.
    """
    state = read(folder / STATE)
    is_kept = state is not None and lives(*state["keeper"])
    ended = read(folder / ENDED)  # last: a keeper writes it before it goes
    if ended is not None:
        return {**(state or {}), **ended, "stage": "ended"}
    if state is not None:
        return dict(state) if is_kept else {**state, "stage": "lost"}
    return {"stage": "ordered" if (folder / ORDER).exists() else "absent"}


def renew(folder: Path) -> None:
    """Note that somebody still wants the job."""
    write(folder / LEASE, time.monotonic())


def write(path: Path, document: object) -> None:
    """A JSON file for our own eyes, whole or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OURS_ALONE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def read(path: Path) -> Any:
    """A JSON file's value; None where there is none, or none that is whole."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def this_process() -> tuple[int, int]:
    """This process's id and its start, which tells it from a later one of its id."""
    found = process_of(os.getpid())
    return os.getpid(), 0 if found is None else found.started_ticks


def lives(pid: int, started_ticks: int) -> bool:
    """Whether the very process of this id and start still runs."""
    found = process_of(pid)
    return found is not None and found.started_ticks == started_ticks
