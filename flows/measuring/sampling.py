"""A machine's samples beside a cell, wherever the machine and the load are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from flows.errors import InfrastructureError
from flows.telemetry.home import cell_telemetry, sampled_here
from reports.columns import RequestColumns

_LINES = "samples.jsonl"


class Sampled(Protocol):
    """A machine that can be sampled; a value that travels to the measuring process."""

    def sampled(self, lines: Path, *, every_s: float) -> AbstractContextManager[None]:
        """Samples into a file here for the time of the block, and a little longer."""

    def ahead_ns(self) -> int:
        """How far its monotonic clock is ahead of this machine's."""


@dataclass(frozen=True, slots=True)
class SampledHere:
    """This machine; the sampler is held to these CPUs (none: all)."""

    cpus: tuple[int, ...] = ()

    def sampled(self, lines: Path, *, every_s: float) -> AbstractContextManager[None]:
        """Its sampler as a process beside us."""
        return sampled_here(lines, every_s=every_s, cpus=self.cpus)

    def ahead_ns(self) -> int:
        """Nothing."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What is sampled beside a cell.

    ``devices`` are the accelerators that the server has (None: all), ``targets_mhz`` their
    locked clocks. ``load_from`` is the machine of the load where that is another one: its
    clock stamps the window.
    """

    machine: Sampled
    every_s: float
    devices: tuple[int, ...] | None = None
    targets_mhz: Mapping[int, float] = field(default_factory=dict)
    load_from: Sampled | None = None


class Samples:
    """The samples of one cell; without a sampler, why there is none."""

    def __init__(self, sampling: Sampling, folder: Path, replication: int) -> None:
        self._sampling = sampling
        self._lines = folder / f".{replication}.{_LINES}"
        self._path = folder / f"{replication}.telemetry.parquet"
        self.missing: str | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Sample for the time of the block; where no sampler starts, measure without."""
        self._lines.parent.mkdir(parents=True, exist_ok=True)
        machine, every_s = self._sampling.machine, self._sampling.every_s
        with ExitStack() as held:
            try:
                held.enter_context(machine.sampled(self._lines, every_s=every_s))
            except InfrastructureError as error:
                self.missing = error.seen
            yield

    def summary(self, columns: RequestColumns) -> dict[str, Any] | None:
        """The window's figures; the samples themselves are kept beside the records."""
        try:
            lines = self._lines.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        self._lines.unlink()
        sampling = self._sampling
        offset_ns = 0
        if sampling.load_from is not None:
            offset_ns = sampling.machine.ahead_ns() - sampling.load_from.ahead_ns()
        return cell_telemetry(
            lines,
            self._path,
            columns,
            devices=sampling.devices,
            targets_mhz=sampling.targets_mhz,
            offset_ns=offset_ns,
        )
