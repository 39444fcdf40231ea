"""From a campaign file and the catalog to the plan of a run, frozen before its first step."""

from flows.run_plan.plan import gates_json, make_run_plan
from flows.run_plan.rehearsed import rehearsed
from flows.run_plan.standing import choice_of, paper_vote

__all__ = ["choice_of", "gates_json", "make_run_plan", "paper_vote", "rehearsed"]
