"""Candidates are measured from like places."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield whether the load came from one machine, or from each candidate's own."""
    files = [each.measured.file for each in evidence.files.replications]
    if not files:
        return
    own = all(file.load_host == file.host for file in files)
    places = sorted({file.load_host for file in files})
    as_planned = own if evidence.files.plan.load_from == "candidate" else len(places) == 1
    yield Check(
        id="same-client",
        requirement="The load comes from one place for all: the way is in every latency",
        observed="from each candidate's own machine" if own else f"from {', '.join(places)}",
        needed=f"as planned (load from: {evidence.files.plan.load_from})",
        verdict="pass" if as_planned or len(places) == 1 else "fail",
    )
