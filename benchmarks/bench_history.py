"""How long the history of a thousand runs takes: from scratch, again, and after one new run.

Ten campaigns of a hundred runs, two candidates at two loads each, eleven measures. Prints the
figures beside what is promised. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from reports.history.site import Written, write_history  # noqa: E402 - after the path
from tests.reports.history.runs import TODAY, make_run  # noqa: E402

CAMPAIGNS, RUNS = 10, 100
PROMISED_S = 10.0


def main() -> None:
    """Build the runs, index them three times, print what was seen."""
    place = Path(tempfile.mkdtemp(prefix="bench-history-"))
    try:
        for number in range(CAMPAIGNS * RUNS):
            day = number // CAMPAIGNS
            make_run(
                place, day, campaign=f"c{number % CAMPAIGNS}", level=1.05 if day > 80 else 1.0
            )
        first_s, cpu_s, first = _timed(place)
        again_s, _, again = _timed(place)
        make_run(place, RUNS, campaign="c0")
        one_s, _, one = _timed(place)
        size = sum(each.stat().st_size for each in first.folder.iterdir())
    finally:
        shutil.rmtree(place)
    kept = "kept" if first_s < PROMISED_S else "MISSED"
    print(f"runs          {len(first.runs):,} in {CAMPAIGNS} campaigns, {os.cpu_count()} CPUs")
    print(f"from scratch  {first_s:.2f} s, {first.read:,} read")
    print(f"processor     {cpu_s:.2f} s of it (what a quiet machine would need)")
    print(f"promised      below {PROMISED_S:.0f} s: {kept}")
    print(f"again         {again_s:.2f} s, {again.read:,} read, {len(again.made)} pages made")
    print(f"one new run   {one_s:.2f} s, {one.read:,} read, {len(one.made)} page made")
    found = sum(map(len, first.changes.values()))
    print(f"site          {size / 1e6:.1f} MB; {found} changes found")


def _timed(place: Path) -> tuple[float, float, Written]:
    start_s, used_s = time.perf_counter(), time.process_time()
    written = write_history(place, place / "history", maker="benchmark", today=TODAY)
    return time.perf_counter() - start_s, time.process_time() - used_s, written


if __name__ == "__main__":
    main()
