"""The paper vote of a campaign, to be put again with what its hosts were measured to reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from catalog.calibration.file import CalibrationFile
from catalog.entries import Catalog
from catalog.schema import Campaign, Candidate
from catalog.screen import Screen
from catalog.verdict import Verdict
from flows.calibrate.apply import applied


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperAgain:
    """The paper vote of a campaign, to be put again with what its hosts were measured at.

    ``vote`` judges with a catalog; ``against`` says why a candidate of a verdict is not
    measured, None: it is.
    """

    campaign: Campaign
    catalog: Catalog
    vote: Callable[[Catalog], Screen]
    against: Callable[[Candidate, Verdict], str | None]

    def judged(self, files: Mapping[str, CalibrationFile]) -> Screen:
        """The vote with each candidate's own calibration, by candidate."""
        hosts = {name: file.host for name, file in files.items()}
        own = tuple({id(file): file for file in files.values()}.values())
        return self.vote(applied(self.campaign, self.catalog, own, hosts=hosts).catalog)
