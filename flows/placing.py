"""Where a candidate's server and its load run: machines by their names in files, and CPUs."""

from __future__ import annotations

from typing import Final

from flows.clouds.protocol import host_id_of
from flows.placement_cpus import CpuPlacement, place
from flows.system.here import facts_here
from flows.underway import Underway, utc_now
from reports.run.plan_file import CandidateFacts

LOCAL: Final = "local"
_HERE: Final = ("orchestrator", LOCAL)


def candidates_of(work: Underway, host: str) -> tuple[CandidateFacts, ...]:
    """The candidates that are measured on a machine."""
    return tuple(each for each in work.plan.candidates if each.measured and each.host == host)


def load_host(work: Underway, candidate: str) -> str:
    """From which machine the load of a candidate comes."""
    stated = LOCAL if work.plan.rehearsal else work.plan.load_from
    if stated == "candidate":
        facts = work.facts(candidate)
        return LOCAL if facts.kind == "endpoint" else facts.host
    return LOCAL if stated in _HERE else host_id_of(stated)


def loaders(work: Underway) -> tuple[str, ...]:
    """Machines that are needed for their load alone."""
    names = dict.fromkeys(
        load_host(work, each.name) for each in work.plan.candidates if each.measured
    )
    return tuple(name for name in names if name != LOCAL and name not in work.hosts)


def placement(work: Underway, candidate: str) -> CpuPlacement:
    """Which CPUs of its machine the candidate's server has, and which the load.

    Raises
    ------
    InfrastructureError
        If the server is to run on a CPU that it may not use.
    """
    facts = work.facts(candidate)
    held = work.held.get(facts.host)
    known = held.facts if held is not None else None
    cpu = (known or facts_here(LOCAL, utc_now())).cpu
    stated = tuple(work.candidate(candidate).settings.get("cpus", ()))
    found = place(candidate, stated, cpu.allowed, cpu.cores)
    if load_host(work, candidate) == facts.host:
        return found
    return CpuPlacement(server=found.server, load=None, threat=None)
