"""``baseline.json``: the run that a re-evaluation is held against, pinned before it begins.

It holds all that the answer needs of the baseline, so that the answer can be given again from
this run alone. ``manifest_sha256`` says which run, bit by bit, that was.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from reports.run.decision_file import Outcome, Stamp, Standing
from reports.run.number import Frozen, Real
from reports.run.plan_file import ContractFacts, PriceFacts

FORMAT = 1

Versions = Literal["latest-known", "pinned"]
Evidence = Literal["measured", "simulated", "imported"]


class PinnedCandidate(Frozen):
    """One candidate as the baseline has it.

    ``figures`` are its measures at the load that it was judged at, by name and replication
    (None: no finite value); ``marks`` what is known of launch, release and machine.
    """

    name: str
    standing: Standing
    runtime: str | None = None
    version: str | None = None
    price: PriceFacts | None = None
    decision_point: str | None = None
    verdict: str | None = None
    marks: dict[str, str] = Field(default_factory=dict)
    figures: dict[str, dict[int, Real | None]] = Field(default_factory=dict)


class Baseline(Frozen):
    """The pinned baseline, and what the re-evaluation asks.

    ``winner`` is whom the baseline's decision names. ``champion`` is the candidate of today's
    file that stands for it (None: the file has none of that name any more), ``control`` the
    candidate of this run with the winner's exact configuration; both are one where today's
    configuration is that of the baseline. ``campaign_sha256`` is of the user's file, from
    which this run's ``campaign.yaml`` was made.
    """

    schema_version: Literal[1] = 1
    campaign: str
    run: str
    manifest_sha256: str
    created_at: str
    method_version: int
    contract: ContractFacts
    evidence: Evidence
    stamp: Stamp
    outcome: Outcome
    sentence: str
    signed_by: tuple[str, ...] = ()
    valid_until: str | None = None
    winner: str
    champion: str | None
    control: str
    versions: Versions
    campaign_sha256: str
    candidates: tuple[PinnedCandidate, ...]

    def candidate(self, name: str) -> PinnedCandidate | None:
        """The baseline's candidate of that name; None where it had none."""
        return next((each for each in self.candidates if each.name == name), None)

    @property
    def pinned(self) -> PinnedCandidate:
        """The baseline's winner."""
        return next(each for each in self.candidates if each.name == self.winner)

    @property
    def family(self) -> frozenset[str]:
        """Candidates of this run that stand for the baseline's winner."""
        return frozenset(name for name in (self.control, self.champion) if name is not None)
