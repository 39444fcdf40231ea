"""Samples written as lines of JSON until somebody says stop. Standard library only.

The first line is ``{"telemetry": 1, …}`` with the anchor of the clock, the last one
``{"ended": …}`` with what the sampling has cost. A file without a last line was cut off;
its other lines hold.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, cast

from flows.telemetry import amd, nvidia
from flows.telemetry.nvml import LIBRARY, Energy
from flows.telemetry.processors import Processors

FORMAT: Final = 1
EVERY_S: Final = 1.0
_STOP_S: Final = 5.0

Sample = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How often, for how long at most, and by which driver's library."""

    every_s: float = EVERY_S
    most_s: float = 6 * 3600
    nvml: str = LIBRARY


def sample(out: IO[str], stop: threading.Event, settings: Settings) -> None:
    """Write samples at an even pace until told to stop, one at the very end among them."""
    began_ns = time.monotonic_ns()
    anchor_ns = time.time_ns() - time.monotonic_ns()
    processors, found = Processors(), queue.SimpleQueue[Sample]()
    with _devices(settings, anchor_ns, found.put) as tool:
        energy = Energy(settings.nvml)
        header = {
            "telemetry": FORMAT,
            "monotonic_ns": began_ns,
            "unix_ns": began_ns + anchor_ns,
        }
        every_s = amd.every_s_of(settings.every_s) if tool == amd.PROGRAM else settings.every_s
        _write(out, {**header, "every_s": every_s, "tool": tool})
        out.flush()
        before_s = _used_s()
        tick = 0
        while True:
            _look(out, processors, energy, found)
            tick += 1
            due_s = began_ns / 1e9 + tick * settings.every_s
            if stop.wait(max(0.0, due_s - time.monotonic())) or tick > _ticks(settings):
                break
        _look(out, processors, energy, found)
    _look(out, processors, energy, found)
    ended_ns = time.monotonic_ns()
    own_s, tool_s = (now - then for now, then in zip(_used_s(), before_s, strict=True))
    cost = {"cpu_s": round(own_s, 4), "tool_cpu_s": round(tool_s, 4)}
    share = (own_s + tool_s) / ((ended_ns - began_ns) / 1e9)
    _write(out, {"ended": ended_ns, **cost, "share_of_core": round(share, 6)})


def _ticks(settings: Settings) -> float:
    return settings.most_s / settings.every_s


def _look(
    out: IO[str], processors: Processors, energy: Energy, found: queue.SimpleQueue[Sample]
) -> None:
    while not found.empty():
        _write(out, found.get())
    for device, millijoules in energy.millijoules().items():
        at_ns = time.monotonic_ns()
        told = {"source": "device", "device": device, "energy_mj": millijoules}
        _write(out, {"at_ns": at_ns, **told})
    _write(out, processors.sample(time.monotonic_ns()))
    out.flush()


@contextmanager
def _devices(
    settings: Settings, anchor_ns: int, put: Callable[[Sample], None]
) -> Iterator[str | None]:
    """The vendor's tool repeating itself beside us; its name, or None where there is none."""
    started = _started(settings)
    if started is None:
        yield None
        return
    process, fields = started
    read = _amd_reader if fields is None else _nvidia_reader
    thread = threading.Thread(
        target=read, args=(process, fields, anchor_ns, put), name="devices", daemon=True
    )
    thread.start()
    try:
        yield amd.PROGRAM if fields is None else nvidia.PROGRAM
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        thread.join(_STOP_S)


def _started(settings: Settings) -> tuple[subprocess.Popen[str], dict[str, str] | None] | None:
    fields = nvidia.known_fields()
    if fields is not None:
        return _start(nvidia.loop_argv(fields, round(settings.every_s * 1000))), fields
    return (_start(amd.loop_argv(settings.every_s)), None) if amd.is_there() else None


def _start(argv: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - words of our own
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env={**os.environ, **nvidia.CLOCK},
    )


def _nvidia_reader(
    process: subprocess.Popen[str],
    fields: dict[str, str],
    anchor_ns: int,
    put: Callable[[Sample], None],
) -> None:
    with cast("IO[str]", process.stdout) as lines:
        for line in lines:
            told = nvidia.sample_of(line, fields, anchor_ns)
            if told is not None:
                put(told)


def _amd_reader(
    process: subprocess.Popen[str],
    _fields: None,
    _anchor_ns: int,
    put: Callable[[Sample], None],
) -> None:
    documents = amd.Documents()
    with cast("IO[str]", process.stdout) as lines:
        for line in lines:
            for document in documents.add(line):
                for told in amd.samples_of(document, time.monotonic_ns()):
                    put(told)


def _used_s() -> tuple[float, float]:
    """CPU seconds of this process so far, and of the tools that it has waited for."""
    own, tools = (
        sum(resource.getrusage(whose)[:2])
        for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own, tools


def _write(out: IO[str], values: Sample) -> None:
    out.write(json.dumps(values, allow_nan=False) + "\n")
