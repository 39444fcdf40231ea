"""Names inside a run directory, composed and taken apart in this one place.

Evidence files are written by the campaign as it goes; decision files are derived from them;
pages and signatures are outside the manifest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CAMPAIGN: Final = "campaign.yaml"
PLAN: Final = "plan.json"
GATES: Final = "gates.json"
GATES_CALIBRATED: Final = "gates.calibrated.json"  # the same vote with what was measured since
CALIBRATION: Final = "calibration.json"  # below hosts/<host>
LEDGER: Final = "ledger.jsonl"
SUMMARY: Final = "summary.json"
CHECKS: Final = "checks.json"
DECISION: Final = "decision.json"
PREDICTION: Final = "prediction.json"
PREDICTION_SCORE: Final = "prediction_score.json"
BASELINE: Final = "baseline.json"
REEVALUATION: Final = "reevaluation.json"
HISTORY: Final = "history.json"
MANIFEST: Final = "manifest.json"
SIGNOFF: Final = "signoff.json"
REPORT_HTML: Final = "report.html"
REPORT_MARKDOWN: Final = "report.md"
JUNIT: Final = "junit.xml"
PARTIAL: Final = ".partial"  # what is being written; never evidence

ASIDE: Final = re.compile(r"\..+\.\d+")  # left by a write that was cut off; nobody reads it

OUTSIDE_MANIFEST: Final = frozenset(
    {REPORT_HTML, REPORT_MARKDOWN, JUNIT, MANIFEST, SIGNOFF, f"{SIGNOFF}.sig"}
)

KEY_DIGITS: Final = 8
_CELL_FOLDER = re.compile(  # a candidate's name may hold two dashes, a load point's does not
    rf"(?P<candidate>.+)--(?P<load_point>.+)--(?P<key>[0-9a-f]{{{KEY_DIGITS}}})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellName:
    """One cell: a candidate at a load point; ``key`` is the start of its identity's hash."""

    candidate: str
    load_point: str
    key: str

    @property
    def folder(self) -> str:
        """The folder's name under ``cells/``."""
        return f"{self.candidate}--{self.load_point}--{self.key}"

    @classmethod
    def of(cls, folder: str) -> CellName | None:
        """The cell of a folder's name; None where it is no cell's."""
        found = _CELL_FOLDER.fullmatch(folder)
        return None if found is None else cls(**found.groupdict())


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The places of a run directory."""

    path: Path

    def file(self, name: str) -> Path:
        """A file at the top, by one of the names of this module."""
        return self.path / name

    def cell(self, cell: CellName) -> Path:
        """The folder of a cell."""
        return self.path / "cells" / cell.folder

    def replication(self, cell: CellName, replication: int, ending: str) -> Path:
        """One of a replication's files, by its ending: ``parquet``, ``cell.json``."""
        return self.cell(cell) / f"{replication}.{ending}"

    def launch(self, candidate: str, replication: int) -> Path:
        """The folder of one launch."""
        return self.path / "launch" / candidate / str(replication)

    def host(self, host: str) -> Path:
        """The folder of a host's facts."""
        return self.path / "hosts" / host

    def quality(self, candidate: str) -> Path:
        """The quality record of a candidate."""
        return self.path / "quality" / f"{candidate}.json"

    def prediction(self, candidate: str) -> Path:
        """What was expected of a candidate after its first launch."""
        return self.path / "prediction" / f"{candidate}.json"
