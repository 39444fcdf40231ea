"""Candidates are asked the same; replications are asked anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from reports.checks.evidence import Evidence
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per load point, whether seeds agree over candidates and differ over launches."""
    by_point: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for each in evidence.files.replications:
        by_point[each.load_point][each.number].add(each.measured.file.seed)
    for point, by_number in by_point.items():
        split = sorted(number for number, seeds in by_number.items() if len(seeds) > 1)
        seeds = [seed for found in by_number.values() for seed in found]
        repeats = len(seeds) - len(set(seeds))
        wrong = []
        if split:
            wrong.append(f"candidates differ in replication {', '.join(map(str, split))}")
        if repeats and not split:
            wrong.append("replications were asked the same again")
        yield Check(
            id="same-seeds",
            requirement="Every candidate is asked the same, every replication something new",
            observed="; ".join(wrong) or f"{len(set(seeds))} seeds, one per replication",
            needed="one seed per replication, whatever the candidate",
            verdict="fail" if wrong else "pass",
            load_point=point,
        )
