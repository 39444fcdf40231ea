"""Seconds and memory of concluding and rendering a run with a million requests.

    python benchmarks/bench_conclude.py [requests] [gaps]

Two candidates, five launches, four loads; the budget is 60 s and 3 GB for both together.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CELLS = 2 * 5 * 4


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    gaps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    place = Path(tempfile.mkdtemp(prefix="bench-conclude-"))
    try:
        folder = _made(place, requests, gaps)
        print(f"{requests:,} requests of {gaps} gaps in {CELLS} records files")
        for step in ("conclude", "render"):
            seconds, gib = _measured(step, folder)
            print(f"{step:10} {seconds:6.1f} s {gib:6.2f} GiB")
    finally:
        shutil.rmtree(place)


def _made(place: Path, requests: int, gaps: int) -> Path:
    """In a process of its own, so that making the run is in no figure."""
    code = f"""
import sys
from pathlib import Path
from tests.reports.run.builder import B, C, CONTRACT, build_run
contract = CONTRACT.model_copy(update={{"output_tokens": "{gaps + 1}"}})
print(build_run(Path(sys.argv[1]), (B, C), contract=contract, replications=5,
                requests={requests // CELLS}, duration_s=1.0).path)
"""
    made = subprocess.run(
        [sys.executable, "-c", code, str(place)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(made.stdout.strip())


def _measured(step: str, folder: Path) -> tuple[float, float]:
    """Wall seconds and the most memory of one step in a process of its own."""
    code = f"""
import datetime as dt, json, resource, sys, time
from pathlib import Path
from reports.run.layout import RunFolder
start = time.monotonic()
if {step == "conclude"}:
    from reports.conclude import conclude as step
else:
    from reports.render import render_run as step
step(RunFolder(Path(sys.argv[1])), now=dt.datetime(2026, 8, 22, tzinfo=dt.UTC))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.monotonic() - start, peak / 2**20]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, gib = json.loads(done.stdout)
    return seconds, gib


if __name__ == "__main__":
    main()
