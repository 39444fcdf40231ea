"""Nobody else used the server, or the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check

_CONCERNS: Final = ("foreign traffic", "not drained")
_MOST_SHARE: Final = 0.02
_LEAST_CORES: Final = 0.1


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether server and machine were ours alone."""
    for cell in evidence.cells():
        yield cell.check(
            "foreign-load",
            "The server holds our requests alone, and the machine does nothing else",
            "no request beyond ours before, during and after; others use at most 2% of the "
            "CPUs or a tenth of a core",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    found = cell.problems(*_CONCERNS)
    found += [
        words for each in cell.replications if (words := _others(each.measured.file.foreign))
    ]
    if found:
        return "fail", "; ".join(found)
    watched = [document["server"]["foreign_peak"] for document in cell.documents()]
    machines = [each.measured.file.foreign for each in cell.replications]
    if None in watched and None in machines:
        return "unknown", "neither the server nor the machine tells who else used it"
    parts = []
    if None not in watched:
        parts.append("no request beyond ours on the server")
    if None not in machines:
        parts.append("the machine was ours")
    return "pass", "; ".join(parts)


def _others(foreign: dict[str, object] | None) -> str:
    """What others used of the machine, where it is too much; else nothing."""
    if foreign is None:
        return ""
    share, cpus = foreign.get("foreign_share"), foreign.get("cpus")
    if not isinstance(share, int | float) or not isinstance(cpus, int | float):
        return ""
    if share <= _MOST_SHARE or share * cpus <= _LEAST_CORES:
        return ""
    return f"others used {share:.1%} of {cpus:g} CPUs"
