"""``reevaluation.json``: whether the baseline's decision still stands, and why not.

Derived from the run's evidence, its ``baseline.json`` and its ``history.json`` alone.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.decision_file import Comparison, Stamp
from reports.run.number import Frozen

FORMAT = 1

Answer = Literal["still valid", "regression", "decision changed", "inconclusive"]
Kind = Literal["price", "version", "measurement", "contract", "candidate"]


class Reason(Frozen):
    """Why the answer is not "still valid": what kind of change made it, in a sentence."""

    kind: Kind
    sentence: str


class Change(Frozen):
    """What differs from the baseline, whether or not it matters; None: not known."""

    kind: Kind
    candidate: str | None
    what: str
    before: str | None
    now: str | None


class Reevaluation(Frozen):
    """The answer of one re-evaluation.

    ``versions`` compares the champion's releases of today with the control, paired in this
    run; ``since`` the control of this run with the baseline's own launches, which is not
    paired. ``warnings`` are what history alone shows, and what could not be compared: they
    change no answer. ``kind`` is ``prices only`` where nothing was measured; then the stamp is
    ``PRICES ONLY`` and the answer can never be signed.
    """

    schema_version: Literal[1] = 1
    method_version: int
    kind: Literal["measured", "prices only"]
    campaign: str
    run: str
    baseline: str
    baseline_manifest_sha256: str
    answer: Answer
    sentence: str
    reasons: tuple[Reason, ...] = ()
    winner_before: str
    winner_now: str | None
    control: str
    champion: str | None
    changes: tuple[Change, ...] = ()
    versions: tuple[Comparison, ...] = ()
    since: tuple[Comparison, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stamp: Stamp | Literal["PRICES ONLY"]
    exit_code: int
