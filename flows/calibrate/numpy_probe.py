"""Memory and matrix products by NumPy: ``python numpy_probe.py ORDER``, alone and by itself.

Prints one JSON object: blocks of seconds and units done (as kernels.c), and NumPy's release.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

WARM_UPS = 3


def main(order: dict[str, Any]) -> None:
    """Run one step of the order on its CPUs."""
    cpus = order["cpus"]
    os.sched_setaffinity(0, cpus)  # before NumPy counts the CPUs for its threads
    import numpy as np  # noqa: PLC0415

    told = {"sgemm": _product, "read": _read, "triad": _triad}[order["mode"]](np, order)
    sys.stdout.write(json.dumps({"kind": "figures", "way": "numpy", **told}) + "\n")


def _blas(np: Any) -> str:
    found = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'its own loops')} {found.get('version', '')}".strip()


def _product(np: Any, order: dict[str, Any]) -> dict[str, Any]:
    n = order["n"]
    a, b = np.full((n, n), 0.5, np.float32), np.full((n, n), 2.0, np.float32)
    out = np.empty((n, n), np.float32)

    def once() -> None:
        np.matmul(a, b, out=out)

    blocks = _blocks(once, 2.0 * n**3, order)
    if out[-1, -1] != n:
        raise SystemExit("a wrong product")
    return {"blocks": blocks, "tool": f"NumPy {np.__version__} ({_blas(np)})", "size": n}


def _read(np: Any, order: dict[str, Any]) -> dict[str, Any]:
    def make(count: int) -> Callable[[], None]:
        part = np.full(count, 3, np.int64)

        def once() -> None:
            if int(np.add.reduce(part)) != 3 * count:
                raise SystemExit("a wrong sum")

        return once

    return _on_threads(np, order, make)


def _triad(np: Any, order: dict[str, Any]) -> dict[str, Any]:
    def make(count: int) -> Callable[[], None]:
        a, b, c = np.zeros(count), np.full(count, 2.0), np.full(count, 0.5)

        def once() -> None:
            np.multiply(c, 3.0, out=a)
            np.add(a, b, out=a)

        return once

    return _on_threads(np, order, make)


def _on_threads(np: Any, order: dict[str, Any], make: Any) -> dict[str, Any]:
    """Each CPU's own thread on its own part; a block ends with the last of them."""
    cpus, count = order["cpus"], order["bytes"] // 8 // len(order["cpus"])
    gate = threading.Barrier(len(cpus) + 1)
    turns = WARM_UPS + order["blocks"]
    passes = [1]
    starts, ends = [0.0] * len(cpus), [0.0] * len(cpus)

    def work(index: int) -> None:
        os.sched_setaffinity(0, {cpus[index]})  # this thread alone
        once = make(count)
        for _ in range(turns):
            gate.wait()
            starts[index] = time.perf_counter()
            for _ in range(passes[0]):
                once()
            ends[index] = time.perf_counter()
            gate.wait()

    threads = [
        threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(cpus))
    ]
    for thread in threads:
        thread.start()
    blocks = []
    for turn in range(turns):
        gate.wait()
        gate.wait()
        seconds = max(ends) - min(starts)
        if turn >= WARM_UPS:
            blocks.append([seconds, float(count * len(cpus) * passes[0])])
        elif seconds < order["block_s"]:
            passes[0] = max(1, int(passes[0] * min(64.0, order["block_s"] / seconds)))
    return {"blocks": blocks, "tool": f"NumPy {np.__version__}"}


def _blocks(once: Callable[[], None], units: float, order: dict[str, Any]) -> list[list[float]]:
    times = 1
    for _ in range(WARM_UPS):
        start_s = time.perf_counter()
        for _ in range(times):
            once()
        seconds = time.perf_counter() - start_s
        if seconds < order["block_s"]:
            times = max(1, int(times * min(64.0, order["block_s"] / seconds)))
    found = []
    for _ in range(order["blocks"]):
        start_s = time.perf_counter()
        for _ in range(times):
            once()
        found.append([time.perf_counter() - start_s, units * times])
    return found


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
