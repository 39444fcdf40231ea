"""What the history keeps of one run directory: small, as values, the same every time."""

from __future__ import annotations

import datetime as dt
from typing import Final, Literal

from pydantic import Field

from catalog.quantity import Basis
from reports.run.decision_file import Outcome, Stamp
from reports.run.number import Frozen, Real
from reports.run.summary_file import CellVerdict

State = Literal["concluded", "half", "broken", "newer", "foreign", "copy"]
WHAT_STATES_MEAN: Final[dict[State, str]] = {
    "concluded": "measured, decided and read",
    "half": "begun, and never concluded",
    "broken": "a file of it is damaged, missing or not what its manifest says",
    "newer": "written by a newer runoff than this one",
    "foreign": "has a plan.json that runoff did not write",
    "copy": "the same run lies elsewhere too and is counted once",
}


class Point(Frozen):
    """One metric of one cell: the median over launches with its interval.

    ``value`` is None where it is not known, or ``is_infinite``: a latency among the failures,
    a cost without compliant tokens. ``verdict`` is the cell's.
    """

    load_point: str
    metric: str
    unit: str
    basis: Basis
    value: Real | None = None
    low: Real | None = None
    high: Real | None = None
    level: Real | None = None
    requests: int | None = None
    launches: int | None = None
    is_infinite: bool = False
    verdict: CellVerdict


class CandidateFacts(Frozen):
    """One candidate in one run. ``kind`` is the SHA-256 of what it is: see ``read``.

    ``marks`` are facts whose change is marked in a series: launch, release, driver, kernel,
    price; one that is not known is left out.
    """

    name: str
    kind: str
    decision_point: str | None = None
    standing: str = ""
    marks: dict[str, str] = Field(default_factory=dict)
    points: tuple[Point, ...] = ()


class RunFacts(Frozen):
    """One run directory; ``path`` is below the searched folder, with ``/``.

    Where the ``state`` is not ``concluded``, ``why`` says what was seen and what else could be
    read is there. ``contract`` is the SHA-256 of the contract, ``at`` when the plan was made.
    ``valid_until`` is the signoff's last day, ``baseline`` the run that this one re-evaluates
    and ``answer`` whether that one's decision still stands.
    """

    path: str
    state: State
    why: str = ""
    campaign: str | None = None
    run: str | None = None
    at: dt.datetime | None = None
    contract: str | None = None
    method_version: int | None = None
    evidence: Literal["measured", "simulated", "imported"] = "measured"
    is_exploratory: bool = False
    stamp: Stamp | None = None
    outcome: Outcome | None = None
    chosen: str | None = None
    sentence: str = ""
    exit_code: int | None = None
    manifest_sha256: str | None = None
    signed_by: tuple[str, ...] = ()
    valid_until: str | None = None
    baseline: str | None = None
    answer: str | None = None
    has_report: bool = False
    candidates: tuple[CandidateFacts, ...] = ()

    @property
    def order(self) -> tuple[dt.datetime, str]:
        """Runs in order of time; those without one come first."""
        return self.at or dt.datetime.min.replace(tzinfo=dt.UTC), self.path

    @property
    def day(self) -> str:
        """The day on which it was begun, in UTC; empty where nobody knows."""
        return "" if self.at is None else self.at.date().isoformat()
