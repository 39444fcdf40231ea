"""The contract is the one that was measured against."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield whether the campaign file is what it was when the run was planned."""
    planned, now = evidence.files.plan.campaign_sha256, evidence.files.campaign_sha256
    yield Check(
        id="contract-unchanged",
        requirement="The campaign file, and with it the contract, is as it was when planned",
        observed="the campaign file is gone"
        if now is None
        else f"{now[:8]}, planned as {planned[:8]}",
        needed="the same SHA-256",
        verdict="unknown" if now is None else "pass" if now == planned else "fail",
        decisive=True,
        waivable=False,
        evidence=("campaign.yaml",),
    )
