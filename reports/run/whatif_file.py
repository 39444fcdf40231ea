"""What ``runoff whatif --json`` prints: a run's decision beside one under other conditions.

No run holds it: it is stamped WHAT-IF and cannot be signed.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Final, Literal

from reports.run.decision_file import Decision, Stamp
from reports.run.number import Frozen

FORMAT = 1
STAMP: Final = "WHAT-IF"

Answer = Literal["holds", "misses", "unknown: not measured"]


class Change(Frozen):
    """One thing as it is in the run, and as it is asked for, in words."""

    what: Literal["price", "limits", "demand", "load"]
    of: str
    was: str
    now: str


class AtRate(Frozen):
    """Whether one candidate holds the contract's latency limits at a rate, and from what."""

    candidate: str
    answer: Answer
    why: str


class WhatIf(Frozen):
    """The run's decision (``then``) and the supposed one (``now``).

    ``now`` and ``is_changed`` are None where the decision hangs on what was not measured;
    ``answers`` are of candidates that were not measured at the load that was asked for.
    ``evidence`` is the stamp of the evidence, which a what-if never betters.
    """

    schema_version: Literal[1] = 1
    stamp: Literal["WHAT-IF"] = STAMP
    run: str
    evidence: Stamp
    asked: tuple[Change, ...]
    is_changed: bool | None
    sentence: str
    caveats: tuple[str, ...]
    answers: tuple[AtRate, ...]
    then: Decision
    now: Decision | None
