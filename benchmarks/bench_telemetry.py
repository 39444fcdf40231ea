"""What sampling costs of one core: `python benchmarks/bench_telemetry.py [seconds]`.

The sampler's own part is measured here; the vendor's tool beside it is counted on the machine
that has one, in every run (`sampling_share_of_core` of each cell).
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from flows.telemetry.home import sampled_here

MOST_SHARE = 0.01


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "lines")
        with sampled_here(lines):
            time.sleep(seconds)
        *rows, end = [json.loads(line) for line in lines.read_text().splitlines()]
    print(f"{len(rows) - 1} samples in {seconds:g} s, tool: {rows[0]['tool']}")
    print(f"sampler {end['cpu_s']:.3f} s, tool {end['tool_cpu_s']:.3f} s of CPU time")
    print(f"{end['share_of_core']:.3%} of a core (at most {MOST_SHARE:.0%})")
    if end["share_of_core"] > MOST_SHARE:
        sys.exit(1)


if __name__ == "__main__":
    main()
