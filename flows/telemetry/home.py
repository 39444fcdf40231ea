"""Telemetry at home: the sampler beside a cell, its lines kept, and what they sum up to."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from flows.errors import InfrastructureError
from reports.cell.steady import tokens_between, window_of
from reports.columns import RequestColumns
from reports.records import Anchor
from reports.run.telemetry_file import Telemetry, write_telemetry
from reports.telemetry.summary import summarise_telemetry

MEASURED: Final = "measured"
_START_S: Final = 30.0
_STOP_S: Final = 30.0
_LOOK_S: Final = 0.02
_AFTER: Final = 1.5  # intervals sampled past the end: counters must be read beyond the window


def command(
    lines: Path | str,
    *,
    every_s: float = 1.0,
    cpus: Sequence[int] = (),
    python: str = sys.executable,
) -> list[str]:
    """The words that start the sampler, here or on a host that has our modules.

    It ends when it is told to (SIGTERM), and after six hours.
    """
    return [
        *(python, "-P", "-s", "-m", "flows.telemetry"),
        *(str(lines), "--every", str(every_s), "--cpus", ",".join(map(str, cpus))),
    ]


def seconds_after(lines: str) -> float:
    """How long to go on after a window, so that counters are read beyond its end."""
    header = _object(lines.partition("\n")[0]) or {}
    return _AFTER * float(header.get("every_s", 1.0))


@contextmanager
def sampled_here(
    lines: Path, *, every_s: float = 1.0, cpus: Sequence[int] = ()
) -> Iterator[None]:
    """Samples of this machine into a file for the time of the block, and a little longer.

    ``cpus`` are those that the sampler and the vendor's tool are held to: the load's, never
    the server's; none: all.

    The block starts when the first sample is written: nothing of the sampler's start, which
    asks the driver which fields it has, falls into what is measured.

    Raises
    ------
    InfrastructureError
        If the sampler does not come up.
    """
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [*command(lines, every_s=every_s, cpus=cpus), "--with-caller"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for_samples(process, lines)
        yield
        time.sleep(seconds_after(lines.read_text(encoding="utf-8")))
    finally:
        if process.stdin is not None:
            process.stdin.close()  # the sampler ends with whoever started it
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_S)
        if process.poll() is None:
            process.kill()
            process.wait()


def cell_telemetry(
    lines: str,
    path: Path,
    columns: RequestColumns,
    *,
    devices: Sequence[int] | None = None,
    targets_mhz: Mapping[int, float] | None = None,
    offset_ns: int = 0,
) -> dict[str, Any] | None:
    """A replication's samples kept at ``path``, and their summary for ``CellFile.telemetry``.

    The window is that of the measured requests; None, and no file, where there is none.
    ``columns`` are all requests of the replication: whoever they are for, their tokens took
    the energy.

    Raises
    ------
    RecordsError
        If the file cannot be written.
    InfrastructureError
        If the lines are not a sampler's.
    """
    window = window_of(columns.where(columns.phase == MEASURED))
    if window is None:
        return None
    windows = {MEASURED: (window.begin_ns, window.end_ns)}
    return summarise_telemetry(
        kept(lines, path, windows, offset_ns=offset_ns),
        devices=devices,
        targets_mhz=targets_mhz,
        output_tokens=round(tokens_between(columns, window.begin_ns, window.end_ns)),
    )


def kept(
    lines: str, path: Path, windows: Mapping[str, tuple[int, int]], *, offset_ns: int = 0
) -> Telemetry:
    """The sampler's lines as ``telemetry.parquet``; returns what was written.

    ``windows`` are on the clock of whoever measured; ``offset_ns`` is what the machine's
    monotonic clock is ahead of it (0 on one machine).

    Raises
    ------
    RecordsError
        If the file cannot be written.
    InfrastructureError
        If the lines are not a sampler's.
    """
    moved = {name: (a + offset_ns, b + offset_ns) for name, (a, b) in windows.items()}
    told = parsed(lines, moved)
    write_telemetry(path, told)
    return told


def parsed(lines: str, windows: Mapping[str, tuple[int, int]]) -> Telemetry:
    """The lines as values, in order of time; a torn last line is left out."""
    found = [told for line in lines.splitlines() if (told := _object(line)) is not None]
    if not found or found[0].get("telemetry") != 1:
        raise InfrastructureError("telemetry", "the sampler wrote no header", "")
    header, end = found[0], next((each for each in found if "ended" in each), {})
    rows = sorted((each for each in found if "at_ns" in each), key=lambda row: row["at_ns"])
    return Telemetry(
        rows=tuple(rows),
        anchor=Anchor(monotonic_ns=header["monotonic_ns"], unix_ns=header["unix_ns"]),
        every_s=header["every_s"],
        tool=header["tool"],
        windows=dict(windows),
        share_of_core=end.get("share_of_core"),
    )


def _object(line: str) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _wait_for_samples(process: subprocess.Popen[bytes], lines: Path) -> None:
    until_s = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < until_s:
        with suppress(OSError):
            if '"source"' in lines.read_text(encoding="utf-8"):
                return
        time.sleep(_LOOK_S)
    raise InfrastructureError(
        "telemetry", f"the sampler wrote nothing within {_START_S:g} s", "Measure without it"
    )
