"""Whether the cell that a fleet is sized by holds as much evidence as one that decides."""

from __future__ import annotations

from reports.checks.rules import enough_launches, enough_requests
from reports.decide.contender import Contender
from reports.run.plan_file import ContractFacts


def too_thin(each: Contender, contract: ContractFacts) -> str | None:
    """Return what the highest held rate rests on, where that is too little to size a fleet by.

    None without a demand, where no fleet is sized, and without a held rate.
    """
    cell = each.held_cell
    if contract.demand is None or cell is None:
        return None
    requests, seconds = enough_requests.fewest(cell)
    launches = enough_launches.launches_of(cell, each.facts)
    if enough_requests.is_enough(requests, seconds) and launches >= enough_launches.LEAST:
        return None
    return (
        f"its fleet rests on {cell.load_point}: {launches} launches, at least {requests} "
        f"requests in {seconds:.0f} s; a decision needs {enough_launches.LEAST}, "
        f"{enough_requests.LEAST_REQUESTS} and {enough_requests.LEAST_S:g} s"
    )
