"""Evidence files are what they were when they were written."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield whether every replication's files have the hashes noted when it was measured."""
    found = evidence.files.replications
    strays = [f"{each.measured.name.folder}/{name}" for each in found for name in each.strays]
    yield Check(
        id="files-unchanged",
        requirement="Records and accounts are as they were when they were measured",
        observed=f"changed, missing or of another replication: {', '.join(strays)}"
        if strays
        else f"the files of {len(found)} replications",
        needed="the SHA-256 of each replication's cell.json, and records of its own",
        verdict="fail" if strays else "pass",
        decisive=True,
        waivable=False,
    )
