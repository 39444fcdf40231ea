"""What is sampled beside the cells of a launch, and how often."""

from __future__ import annotations

from typing import Final

from deploy_templates.plan import LaunchPlan
from flows.load_way import machine_of
from flows.measuring.sampling import Sampled, Sampling
from flows.placement_cpus import CpuPlacement
from flows.underway import Held, Underway
from reports.run.plan_file import Visit

_OFTEN_S: Final = 0.1
_SELDOM_S: Final = 1.0
_FEW_CPUS: Final = 16


def sampling_of(
    work: Underway, visit: Visit, plan: LaunchPlan, cpus: CpuPlacement, clock: Sampled | None
) -> Sampling | None:
    """What is sampled beside the launch's cells; nothing of a simulated engine's machine."""
    if plan.simulation:
        return None
    held = work.held[visit.host]
    request = work.prepared[visit.candidate].requested.request
    devices = () if request is None else request.devices
    return Sampling(
        machine=machine_of(work, visit.host).sampled(cpus.load or ()),
        every_s=_every_s(held),
        devices=devices or None,
        targets_mhz={} if held.control is None else held.control.targets_mhz,
        load_from=clock,
    )


def _every_s(held: Held) -> float:
    """How often a machine is sampled: a cell waits for samples on both sides of it.

    Few processors cost nothing to look at; an accelerator costs its driver some work.
    """
    cpus = () if held.facts is None else held.facts.cpu.allowed
    is_small = bool(cpus) and len(cpus) <= _FEW_CPUS and not held.found.devices
    return _OFTEN_S if is_small else _SELDOM_S
