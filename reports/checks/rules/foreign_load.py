"""Nobody else used the server, or the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check
from reports.telemetry.voids import host_voids

_CONCERNS: Final = ("foreign traffic", "not drained")


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether server and machine were ours alone.

    An exploratory run is not void for it: it fails here, decides nothing, and is a threat.
    """
    for cell in evidence.cells():
        yield cell.check(
            "foreign-load",
            "The server holds our requests alone, and the machine does nothing else",
            "no request beyond ours before, during and after; others use at most 2% of the "
            "CPUs or a tenth of a core, no swap, at most 1% of the time is stolen",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    traffic = cell.problems(*_CONCERNS)
    disturbed = list(_disturbances(cell))
    if traffic or disturbed:
        return "fail", "; ".join([*traffic, *disturbed])
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


def _disturbances(cell: Cell) -> Iterator[str]:
    """What else the machine did, with the number of the replication's files."""
    for each in cell.replications:
        file = each.measured.file
        for words in host_voids(file.telemetry, file.foreign):
            yield f"replication {each.number}: {words}"
