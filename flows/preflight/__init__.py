"""Everything that can fail later, in one list before the first paid step."""

from __future__ import annotations

from collections.abc import Iterable

from flows.preflight.finding import Finding, Severity
from flows.preflight.launches import launch_findings
from flows.preflight.money import money_findings
from flows.preflight.places import place_findings
from flows.preflight.probes import Probes, real_probes
from flows.preflight.question import Question, Subject, question_of
from flows.preflight.rooms import room_findings

__all__ = [
    "Finding",
    "Probes",
    "Question",
    "Subject",
    "preflight",
    "question_of",
    "real_probes",
]


def preflight(
    question: Question, probes: Probes, more: Iterable[Finding] = ()
) -> tuple[Finding, ...]:
    """Each finding once, those that block first; ``more`` are a driver's own, as of quotas.

    What several candidates share is one finding that names them all.
    """
    places: dict[tuple[Severity, str, str], dict[str, None]] = {}
    for finding in (
        *launch_findings(question, probes),
        *room_findings(question, probes),
        *money_findings(question),
        *place_findings(question, probes),
        *more,
    ):
        same = places.setdefault((finding.severity, finding.seen, finding.do), {})
        same[finding.where] = None
    found = (
        Finding(severity=severity, where="; ".join(wheres), seen=seen, do=do)
        for (severity, seen, do), wheres in places.items()
    )
    return tuple(sorted(found, key=lambda finding: finding.severity))
