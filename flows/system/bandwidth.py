"""Main memory's bandwidth, measured by a triad over arrays that no cache holds.

The triad a = b + s·c is STREAM's (McCalpin): 24 bytes counted for each element of 8. The
median is reported, never the best. Where a compiler is at hand a small C program runs on all
allowed CPUs; NumPy's two passes move more than they are counted for and read too low.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from flows.errors import InfrastructureError
from flows.system.facts import Bandwidth

REPETITIONS: Final = 11
BYTES_PER_ELEMENT: Final = 24
MOST_BYTES: Final = 2_000_000_000  # of the three arrays together
BEYOND_CACHE: Final = 4  # an array is so many times the last level's caches
_UNKNOWN_CACHE: Final = 256 * 2**20  # where the kernel does not tell
_SHARE_OF_FREE: Final = 0.5
_LEAST_BYTES: Final = 3 * 2**20
_SOURCE: Final = Path(__file__).with_name("triad.c")
_COMPILE_S: Final = 60.0
_RUN_S: Final = 120.0
_FLAGS: Final = ("-O3", "-march=native", "-fopenmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """Bytes of each of the three arrays, and whether no cache can hold a good part of one."""

    array_bytes: int
    is_beyond_cache: bool


def sizing(last_level_bytes: int | None, free_bytes: int | None) -> Sizing:
    """Arrays of four times the last-level caches, within 2 GB and half the free memory."""
    wanted = BEYOND_CACHE * (last_level_bytes or _UNKNOWN_CACHE)
    most = MOST_BYTES
    if free_bytes is not None:
        most = min(most, int(free_bytes * _SHARE_OF_FREE))
    size = max(min(wanted, most // 3), _LEAST_BYTES // 3) // 8 * 8
    return Sizing(array_bytes=size, is_beyond_cache=size >= wanted // 8 * 8)


def measured_bandwidth(
    sized: Sizing, cpus: Sequence[int], compiler: str | None, *, repetitions: int = REPETITIONS
) -> Bandwidth:
    """Bytes per second of the triad on these CPUs, one thread each.

    ``compiler`` is the path of gcc or of one that takes its flags; None: NumPy.

    Raises
    ------
    InfrastructureError
        If the program does not compile, run, or compute right.
    """
    elements = sized.array_bytes // 8
    if compiler is not None:
        seconds = _compiled(compiler, elements, cpus, repetitions)
        how = f"C triad ({' '.join(_FLAGS)})"
        doubt = "a write that first reads its line is not counted: the true traffic is higher"
    else:
        seconds = _in_numpy(elements, cpus, repetitions)
        how = f"NumPy {np.__version__} triad in two passes"
        doubt = "two passes move 40 bytes where 24 are counted: this reads too low"
    if not sized.is_beyond_cache:
        doubt += "; the arrays are too small to lie beyond the caches: this may read too high"
    rates = sorted(BYTES_PER_ELEMENT * elements / each for each in seconds)
    return Bandwidth(
        median=statistics.median(rates),
        lowest=rates[0],
        highest=rates[-1],
        repetitions=len(rates),
        threads=len(cpus),
        array_bytes=elements * 8,
        method=f"{how}, {len(cpus)} threads, median of {len(rates)}; {doubt}",
    )


def _compiled(
    compiler: str, elements: int, cpus: Sequence[int], repetitions: int
) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="runoff-triad-") as folder:
        program = Path(folder, "triad")
        _run([compiler, *_FLAGS, str(_SOURCE), "-o", str(program)], {}, _COMPILE_S)
        places = ",".join(f"{{{cpu}}}" for cpu in cpus)
        threads = {"OMP_NUM_THREADS": str(len(cpus)), "OMP_PLACES": places}
        printed = _run(
            [str(program), str(elements), str(repetitions)],
            {**threads, "OMP_PROC_BIND": "true"},
            _RUN_S,
        )
    return [float(line) for line in printed.split()]


def _run(argv: Sequence[str], environment: dict[str, str], limit_s: float) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the compiler and what it made
            argv,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(argv[0], str(error)) from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split()[-30:]) or "it said nothing"
        raise _failed(argv[0], f"it ended with code {done.returncode}: {said}")
    return done.stdout


def _failed(program: str, seen: str) -> InfrastructureError:
    return InfrastructureError(
        f"memory bandwidth, {program}", seen, "Measure without it, or repair the compiler"
    )


def _in_numpy(elements: int, cpus: Sequence[int], repetitions: int) -> list[float]:
    """Seconds of each repetition, each thread on its own part and CPU."""
    edges = np.linspace(0, elements, len(cpus) + 1).astype(int)
    times = np.zeros((len(cpus), repetitions + 1, 2))
    gate = threading.Barrier(len(cpus))

    def work(index: int) -> None:
        os.sched_setaffinity(0, {cpus[index]})  # this thread alone
        part = int(edges[index + 1] - edges[index])
        a, b, c = np.zeros(part), np.full(part, 2.0), np.full(part, 0.5)
        for round_ in range(repetitions + 1):  # the first is a warm-up
            gate.wait(_RUN_S)
            times[index, round_, 0] = time.perf_counter()
            np.multiply(c, 3.0, out=a)
            np.add(a, b, out=a)
            times[index, round_, 1] = time.perf_counter()

    with ThreadPoolExecutor(len(cpus)) as pool:
        list(pool.map(work, range(len(cpus))))  # raises what a thread raised
    spans = times[:, 1:, 1].max(axis=0) - times[:, 1:, 0].min(axis=0)
    return [float(span) for span in spans]
