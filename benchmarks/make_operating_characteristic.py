"""Simulates the goodput verdict and stores how often it ends in which word.

Writes ``reports/stats/operating_characteristic.json``: run it again when the verdict's rule
changes (two minutes). Each plan under each condition has its own seed, so a part can be
made again alone.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np

from reports.stats.campaigns import CampaignModel, verdict_shares
from reports.stats.operating import CONDITIONS

TARGET = 0.95
SEED = 20_261_130
CAMPAIGNS = 10_000
GOODPUTS = (0.85, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995)
REQUESTS = (200, 500, 1000, 2000)
RUNS = (3, 5)
COLUMNS = ("requests", "runs", "correlation", "spread", "goodput", "holds", "misses")
TABLE = Path(__file__).parent.parent / "reports" / "stats" / "operating_characteristic.json"


def main() -> None:
    rows = [
        row
        for index, plan in enumerate(product(REQUESTS, RUNS, CONDITIONS))
        for row in _rows(index, *plan)
    ]
    head = {
        "made": "simulated by benchmarks/make_operating_characteristic.py: campaigns of "
        "reports.stats.campaigns (drift), judged by reports.stats.share_claim",
        "seed": SEED,
        "target": TARGET,
        "campaigns": CAMPAIGNS,
        "columns": COLUMNS,
    }
    lines = ",\n".join(json.dumps(row) for row in rows)
    TABLE.write_text(f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n{lines}\n]}}\n')


def _rows(
    index: int, requests: int, runs: int, condition: tuple[float, float]
) -> list[tuple[float, ...]]:
    rng = np.random.default_rng([SEED, index])
    correlation, spread = condition
    rows = []
    for goodput in GOODPUTS:
        model = CampaignModel(
            goodput=goodput,
            requests=requests,
            runs=runs,
            correlation=correlation,
            spread=spread,
        )
        holds, misses = verdict_shares(model, CAMPAIGNS, rng, TARGET)
        row = (requests, runs, correlation, spread, goodput, round(holds, 4), round(misses, 4))
        print(*row, sep="\t", flush=True)
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
