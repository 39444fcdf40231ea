"""The comparable earlier runs of a run, taken when it is concluded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reports.history.facts import CandidateFacts, RunFacts
from reports.history.read import facts_of, planned_facts
from reports.history.series import LOOK_BACK, WATCHED
from reports.run.history_file import HistoryFile
from reports.run.plan_file import RunPlan

_LOOKED_AT: Final = 200  # runs; a campaign's older ones are of another question by then


def earlier_runs(plan: RunPlan, newest_first: Iterable[Path]) -> HistoryFile | None:
    """The runs that can stand in a series with one of that plan; None where there is none.

    Of each only what is watched is kept, at the load that each candidate is judged at, and of
    all the newest that a series looks back on. A run that cannot be read is passed over: the
    history itself tells of it.
    """
    ours = _question(planned_facts(plan))
    found: list[RunFacts] = []
    for count, folder in enumerate(newest_first):
        if len(found) == LOOK_BACK - 1 or count == _LOOKED_AT:
            break
        facts = facts_of(folder, folder.name)
        if facts.state == "concluded" and _question(facts) == ours:
            found.append(_small(facts))
    return HistoryFile(runs=tuple(reversed(found))) if found else None


def snapshot_text(file: HistoryFile) -> str:
    """The file: what is as a rule is left out, the same bytes every time."""
    plain = {"schema_version": file.schema_version} | file.model_dump(
        mode="json", exclude_defaults=True
    )
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _question(facts: RunFacts) -> tuple[object, ...]:
    return (
        facts.campaign,
        facts.contract,
        facts.method_version,
        facts.evidence,
        facts.is_exploratory,
    )


def _small(facts: RunFacts) -> RunFacts:
    return facts.model_copy(
        update={"sentence": "", "candidates": tuple(map(_watched, facts.candidates))}
    )


def _watched(candidate: CandidateFacts) -> CandidateFacts:
    points = tuple(
        point
        for point in candidate.points
        if point.metric in WATCHED and point.load_point == candidate.decision_point
    )
    return candidate.model_copy(update={"points": points})
