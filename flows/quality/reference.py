"""Against whom answers are held, and whether a plan measures quality at all. Pure."""

from __future__ import annotations

from catalog.architecture.storage import precision
from catalog.errors import CatalogError
from reports.run.plan_file import CandidateFacts, RunPlan


def is_measured(plan: RunPlan) -> bool:
    """Whether a run of that plan measures quality: it is asked for, and has a reference."""
    return plan.contract.quality is not None and not plan.rehearsal and has_reference(plan)


def has_reference(plan: RunPlan) -> bool:
    """Whether somebody can be held against: an endpoint, or a candidate that is measured."""
    return is_elsewhere(plan) or reference_of(plan) is not None


def is_elsewhere(plan: RunPlan) -> bool:
    """Whether the reference is an endpoint beside the candidates."""
    wanted = plan.contract.quality
    return wanted is not None and "://" in wanted.reference


def reference_of(plan: RunPlan) -> str | None:
    """The candidate that others are held against; None where it is an endpoint, or nobody.

    It is the one named, or the first one measured whose precision is the reference's.
    """
    wanted = plan.contract.quality
    if wanted is None or is_elsewhere(plan):
        return None
    measured = [each for each in plan.candidates if each.measured]
    for each in measured:
        if each.name == wanted.reference:
            return each.name
    return next((each.name for each in measured if _is_precision(each, wanted.reference)), None)


def _is_precision(facts: CandidateFacts, wanted: str) -> bool:
    """Whether weights are of a precision, whatever file they lie in."""
    try:
        asked, has = precision(wanted).name, precision(facts.precision or "").name
    except CatalogError:
        return False
    return _plain(asked) == _plain(has)


def _plain(name: str) -> str:
    return {"gguf_f16": "float16", "gguf_bf16": "bfloat16"}.get(name, name)
