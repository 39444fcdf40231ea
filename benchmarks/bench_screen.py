"""Wall time of the whole command ``runoff screen … --all-offers``, start-up included.

Prints the number of combinations and the median of several runs; the promise is less than a
second for at least 2,000 combinations. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
CAMPAIGN = ROOT / "catalog" / "campaigns" / "canonical.yaml"
COMMAND = [sys.executable, "-m", "flows.cli", "screen", str(CAMPAIGN), "--all-offers"]
RUNS = 7
PROMISED_COMBINATIONS = 2_000
PROMISED_S = 1.0


def main() -> None:
    """Run the command, print what was seen against what is promised."""
    outputs, times_s = zip(*(_run() for _ in range(RUNS)), strict=True)
    combinations = _combinations(outputs[-1])
    median_s = statistics.median(times_s)
    print(f"combinations  {combinations:,} (promised: at least {PROMISED_COMBINATIONS:,})")
    print(f"wall time     median {median_s:.3f} s, fastest {min(times_s):.3f} s of {RUNS} runs")
    print(f"processor     {_cpu_s() / RUNS:.3f} s per run (what a quiet machine would need)")
    kept = "kept" if median_s < PROMISED_S else "MISSED"
    print(f"promised      below {PROMISED_S:.1f} s: {kept}")
    print(f"per thousand  {median_s / combinations * 1e6:.0f} ms, start-up included")


def _run() -> tuple[str, float]:
    start_s = time.perf_counter()
    done = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, time.perf_counter() - start_s


def _cpu_s() -> float:
    """Processor seconds of all runs so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _combinations(output: str) -> int:
    found = re.search(r"([\d,]+) candidates", output)
    if found is None:
        raise SystemExit(f"no count of candidates in:\n{output[-500:]}")
    return int(found[1].replace(",", ""))


if __name__ == "__main__":
    main()
