"""Why a campaign ends with 7: the checks of the evidence that failed, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from flows.errors import MEANINGS, ExitCode
from reports.run.checks_file import Check, Checks
from reports.run.decision_file import Decision

_MOST: Final = 3
_CLIENT: Final = "client-health"
_DO: Final[Mapping[str, str]] = {
    _CLIENT: "give the load CPUs of its own (state fewer in settings.cpus of the "
    "candidate), or load from another machine",
    "foreign-load": "stop what else uses the machine or the server",
    "steady": "warm up for longer, or measure more requests",
    "files-unchanged": "runoff check names the files that have changed",
}
_REHEARSED: Final[Mapping[str, str]] = {  # simulated engines have no setting of their CPUs
    _CLIENT: "stop what else runs here, or rehearse on a machine with more CPUs",
}


def why_void(decision: Decision, checks: Checks) -> Iterator[str]:
    """What 7 means, at most three failed checks, and what to do before it is measured anew."""
    yield f"Exit code {ExitCode.EVIDENCE:d}: {MEANINGS[ExitCode.EVIDENCE]}"
    failed = _failed(decision, checks)
    for each in failed[:_MOST]:
        yield f"check {each.name}: {each.observed}"
    if len(failed) > _MOST:
        yield f"{len(failed) - _MOST} more checks failed: the report has them"
    if not failed:
        for ranked in decision.ranking:
            if ranked.standing == "no valid evidence":
                yield f"{ranked.name}: {ranked.why}"
    do = {**_DO, **_REHEARSED} if decision.stamp == "REHEARSAL" else _DO
    advice = dict.fromkeys(do[each.id] for each in failed if each.id in do)
    causes = "; ".join(advice) or "remove what the report's evidence checks name"
    yield f"Do: {causes}. Then measure anew: the same command without --resume"


def _failed(decision: Decision, checks: Checks) -> list[Check]:
    """Failed checks of the deciding cells that are void, and what decides for the whole run.

    Those that make evidence void come first; too few launches, say, is no such reason.
    """
    void = {
        (each.name, each.decision_point)
        for each in decision.ranking
        if each.standing == "no valid evidence"
    }
    found = [
        each
        for each in checks.checks
        if each.verdict == "fail"
        and (
            (each.candidate, each.load_point) in void
            or (each.candidate is None and each.decisive)
        )
    ]
    return sorted(found, key=lambda each: (not each.decisive, each.id not in _DO))
