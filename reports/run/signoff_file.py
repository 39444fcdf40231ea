"""``signoff.json``: who approved exactly which manifest, written last.

The bytes that an approver's detached signature covers are those of the file with the
approvals up to and including theirs; the armoured signatures stand in ``signoff.json.sig``
one behind the other, in the order of the signed approvals.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.decision_file import Decision, Stamp
from reports.run.number import Frozen

FORMAT = 1

Scope = Literal["speed and quality", "speed"]


class Waiver(Frozen):
    """A failed check that an approver accepts, by the name that ``Check.name`` gives."""

    check: str
    reason: str


class Approval(Frozen):
    """One person's approval; ``at`` is UTC. ``signed``: a detached signature belongs to it."""

    by: str
    role: str
    statement: str
    at: str
    waivers: tuple[Waiver, ...] = ()
    signed: bool = False


class Signoff(Frozen):
    """The approvals of one manifest, and for how long they can be relied on.

    ``evidence`` is the decision's own stamp. ``scope`` is ``speed`` where the contract asks
    for no quality. ``valid_until`` is the last day on which no price is too old; it is None
    where no price has a day. ``unknown`` are checks that could not be judged.
    """

    schema_version: Literal[1] = 1
    stamp: Literal["SIGNED"] = "SIGNED"
    evidence: Stamp
    manifest_sha256: str
    campaign: str
    run: str
    chosen: str
    sentence: str
    scope: Scope
    valid_until: str | None
    rerun_when: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    approvals: tuple[Approval, ...]

    def up_to(self, count: int) -> Signoff:
        """The file as it was when that many had approved."""
        return self.model_copy(update={"approvals": self.approvals[:count]})

    def approves(self, decision: Decision, manifest_sha256: str) -> bool:
        """Whether somebody has approved exactly this manifest, for this measured decision."""
        return (
            bool(self.approvals)
            and self.manifest_sha256 == manifest_sha256
            and self.evidence == decision.stamp == "MEASURED"
            and (self.chosen, self.sentence) == (decision.winner, decision.sentence)
        )

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """The waivers of all approvals."""
        return tuple(waiver for each in self.approvals for waiver in each.waivers)
