"""The plan of an imported run: the campaign's, with what the files hold in its matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.importing.sources import Imported
from reports.run.plan_file import CandidateFacts, LoadPoint, RunPlan, Visit


def imported_plan(
    plan: RunPlan, found: Sequence[Imported], own: LoadPoint | None, tool: str
) -> RunPlan:
    """The plan with the imported cells alone; ``own`` is the contract's load point."""
    points = {each.point.name: each.point for each in found}
    if own is not None:
        points.setdefault(own.name, own)
    names = {each.candidate for each in found}
    notes = dict.fromkeys(note for each in found for note in each.foreign.notes)
    matrix = plan.matrix.model_copy(
        update={
            "load_points": tuple(points.values()),
            "decision_point": own.name if own is not None else None,
            "replications": max(each.replication for each in found) + 1,
            "search_rates": False,
        }
    )
    return plan.model_copy(
        update={
            "imported": tool,
            "matrix": matrix,
            "candidates": tuple(
                _facts(each, is_there=each.name in names) for each in plan.candidates
            ),
            "order": tuple(_visits(plan, found)),
            "estimate": (),
            "money_not_spent": None,
            "threats": (*plan.threats, *notes),
        }
    )


def _facts(facts: CandidateFacts, *, is_there: bool) -> CandidateFacts:
    skipped = None if is_there else "the imported files hold nothing of it"
    return facts.model_copy(update={"measured": is_there, "skipped": skipped})


def _visits(plan: RunPlan, found: Sequence[Imported]) -> Iterator[Visit]:
    launches: dict[tuple[int, str], list[str]] = {}
    for each in found:
        launches.setdefault((each.replication, each.candidate), []).append(each.point.name)
    for (replication, candidate), points in sorted(launches.items()):
        yield Visit(
            host=plan.candidate(candidate).host,
            replication=replication,
            candidate=candidate,
            load_points=tuple(points),
        )
