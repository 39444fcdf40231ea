"""What a campaign costs beside its load: our own overhead.

    python benchmarks/bench_campaign.py [--cell-s 30] [--json OUT]

Runs ``runoff compare`` on two simulated engines, two launches each with one cell of a fixed
rate, and takes from its wall time what the load and the servers' own starts took. Asked are
at most 20 s of start (and end) and 3% of the time of the load.
"""

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from reports.records import read_records
from reports.run.ledger_file import read_ledger
from reports.run.read import Run, read_run

RATE_PER_S = 20
START_S, SHARE = 20.0, 0.03
CAMPAIGN = """
schema_version: 1
name: overhead
contract:
  model: tiny-llama-19m
  prompt_tokens: 16
  output_tokens: 16
  rate: {rate}/s
  slo: {{ttft: 2000 ms, itl: 500 ms}}
candidates:
  - {{name: one, host: local, runtime: rehearsal}}
  - {{name: other, host: local, runtime: rehearsal}}
matrix: {{concurrency: [], rates: [], requests: {requests}, warmup: fixed, warmup_requests: 10,
  replications: 2}}
screening: {{unknown: measure}}
exploratory: true
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cell-s", type=float, default=30.0)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="runoff-overhead-") as name:
        folder = Path(name)
        wall = {each: compared(folder, given.cell_s) for each in ("first", "later")}
    document = {**wall, "asked": {"start_s": START_S, "share": SHARE}}
    for each, found in wall.items():
        verdict = "within" if found["overhead_s"] <= found["allowed_s"] else "ABOVE"
        print(
            f"{each} campaign of a home: {found['wall_s']:.1f} s in all, load "
            f"{found['load_s']:.1f} s, servers {found['servers_s']:.1f} s; start "
            f"{found['start_s']:.1f} s, end {found['end_s']:.1f} s, between "
            f"{found['between_s']:.1f} s: overhead {found['overhead_s']:.1f} s, {verdict} "
            f"{found['allowed_s']:.1f} s"
        )
    if given.json is not None:
        given.json.write_text(json.dumps(document, indent=1) + "\n")


def compared(folder: Path, cell_s: float) -> dict[str, float]:
    """Seconds of one campaign by what they went to."""
    file = folder / "overhead.yaml"
    file.write_text(CAMPAIGN.format(rate=RATE_PER_S, requests=round(cell_s * RATE_PER_S)))
    (folder / "locks").mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "RUNOFF_HOME": str(folder / "home"),
        "RUNOFF_LOCKS": str(folder / "locks"),
    }
    command = [sys.executable, "-P", "-m", "flows.cli", "compare", str(file)]
    began, began_s = dt.datetime.now(dt.UTC), time.monotonic()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    wall_s = time.monotonic() - began_s
    run = read_run(max((folder / "runs" / "overhead").iterdir()))
    first, last = edge(run, "launching", 0), edge(run, "released", -1)
    start_s = (first - began).total_seconds()
    end_s = wall_s - (last - began).total_seconds()
    load_s, servers_s = load_of(run), servers_of(run)
    between_s = wall_s - start_s - end_s - load_s - servers_s
    return {
        "wall_s": wall_s,
        "start_s": start_s,
        "end_s": end_s,
        "between_s": between_s,
        "load_s": load_s,
        "servers_s": servers_s,
        "overhead_s": start_s + end_s + between_s,
        "allowed_s": START_S + SHARE * load_s,
    }


def edge(run: Run, event: str, place: int) -> dt.datetime:
    entries = read_ledger(run.folder.file("ledger.jsonl"))
    return dt.datetime.fromisoformat([e for e in entries if e["event"] == event][place]["at"])


def load_of(run: Run) -> float:
    """From the first send of each cell, warm-up included, to its last answer."""
    spans = []
    for cell in run.cells:
        columns = read_records(cell.records).columns
        spans.append(int(np.max(columns.done_ns)) - int(np.min(columns.scheduled_ns)))
    return sum(spans) / 1e9


def servers_of(run: Run) -> float:
    """What the servers took to start and to end."""
    documents = [
        json.loads(path.read_text()) for path in run.folder.path.glob("launch/*/*/launch.json")
    ]
    return sum(d["start_ns"] + d["stopped"]["duration_ns"] for d in documents) / 1e9


if __name__ == "__main__":
    main()
