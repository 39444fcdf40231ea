"""No measurement is faster than what physics allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen, values_of
from reports.run.checks_file import Check

_CLAUSES: Final = (("ttft", "TTFT"), ("itl", "ITL"))


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell that decides, whether it stays above the bounds of its candidate."""
    fixed = evidence.files.plan.contract.prompt_tokens.strip().isdigit()
    for cell in evidence.cells():
        if cell.decides:
            yield cell.check(
                "contradiction",
                "No measurement lies below its own bound: else the catalog or it is wrong",
                "at or above the bound on paper",
                _seen(cell, fixed),
                decisive=True,
                waivable=False,
            )


def _seen(cell: Cell, fixed: bool) -> Seen:
    if cell.summary.basis == "simulation":
        return "not applicable", "a simulation has settings, no physics"
    bounds = {"ttft": cell.facts.bound_ttft_ms, "itl": cell.facts.bound_itl_ms}
    words, below = [], False
    for name, title in _CLAUSES:
        bound, fastest = bounds[name], _fastest(cell, name, fixed)
        if bound is None or fastest is None:
            continue
        below = below or fastest < bound
        words.append(f"{title} {fastest:.4g} ms against a bound of {bound:.4g} ms")
    if not words:
        return "not applicable", "no bound for this candidate"
    return ("fail" if below else "pass"), "; ".join(words)


def _fastest(cell: Cell, name: str, fixed: bool) -> float | None:
    """The fastest launch's figure that the bound is of.

    With prompts of one length every request is bounded, so the median is; else the bound is
    that of the contract's percentile of lengths, and so is the figure.
    """
    measure = {"ttft": "service_ttft_ms", "itl": "tpot_ms"}[name]
    values = (
        values_of(cell, measure, "p50") if fixed else values_of(cell, "clauses", name, "value")
    )
    return min(values, default=None)
