"""``checks.json``: the evidence checks, each with what was seen and what was needed.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.number import Frozen

FORMAT = 1

CheckVerdict = Literal["pass", "fail", "unknown", "not applicable"]


class Check(Frozen):
    """One check of one thing. ``decisive``: its failure in the decision cell ends with 7.

    ``evidence`` are files of the run directory. A check that no waiver can cover is not
    ``waivable``.
    """

    id: str
    requirement: str
    observed: str
    needed: str
    verdict: CheckVerdict
    candidate: str | None = None
    load_point: str | None = None
    replication: int | None = None
    decisive: bool = False
    waivable: bool = True
    evidence: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The check's id with what it is of, as a waiver names it."""
        parts = [self.id, self.candidate, self.load_point]
        if self.replication is not None:
            parts.append(str(self.replication))
        return "/".join(part for part in parts if part)

    def stands_against(self, winner: str | None) -> bool:
        """Whether it keeps a decision for this candidate from being signed.

        A failure does, and what decides and is not known; but another candidate's quality is
        what that one lacks, no fault of the evidence.
        """
        if self.id == "quality" and self.candidate != winner:
            return False
        return self.verdict == "fail" or (self.decisive and self.verdict == "unknown")


class Checks(Frozen):
    """All checks of a run."""

    schema_version: Literal[1] = 1
    checks: tuple[Check, ...]
