"""Where answers end by themselves, candidates give answers of like length."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from reports.checks.evidence import Evidence, values_of
from reports.run.checks_file import Check

_MOST = 0.05


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield whether the mean lengths of natural answers differ between candidates."""
    if evidence.files.plan.contract.output != "natural":
        return
    means = {
        cell.facts.name: median(lengths)
        for cell in evidence.cells()
        if cell.decides and (lengths := values_of(cell, "lengths", "output", "seen", "mean"))
    }
    if len(means) < 2:
        return
    differs = max(means.values()) / min(means.values()) - 1
    words = ", ".join(f"{name} {mean:.4g}" for name, mean in sorted(means.items()))
    yield Check(
        id="natural-lengths",
        requirement="Answers of the candidates are of like length: a terse one looks fast",
        observed=f"mean output tokens: {words}; the longest {differs:.1%} above the shortest",
        needed=f"at most {_MOST:.0%} apart",
        verdict="pass" if differs <= _MOST else "fail",
    )
