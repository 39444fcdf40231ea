"""Machines of a campaign: got before the first launch, described, given back whatever comes."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from catalog.quantity import Quantity
from flows.budget import totals
from flows.budget.steps import host_of
from flows.clouds import cloud_of
from flows.clouds.protocol import Machine, Order, Site
from flows.errors import InfrastructureError, RunoffError, StillBilled
from flows.placement_cpus import CpuPlacement, place
from flows.system.here import facts_here
from flows.underway import Held, Underway, utc_now
from reports.run.host_file import HostFile
from reports.run.plan_file import CandidateFacts
from reports.run.read import file_text

LOCAL: Final = "local"
_SPARE: Final = dt.timedelta(hours=1)


def acquire(work: Underway, host: str) -> Machine | None:
    """The machine of that name, ours until it is released; None for a service.

    Raises
    ------
    RunoffError
        With who holds it, or why there is none.
    """
    first = _candidates(work, host)[0]
    if first.kind == "endpoint":
        return None
    if first.host_class != "local":
        raise InfrastructureError(
            f"host {host!r}",
            "a campaign starts its servers on this machine only",
            "Start it there yourself and name its address as endpoint, or --rehearse",
        )
    stated = work.candidate(first.name)
    driver = cloud_of(stated.host, stated.offer, f"candidate {first.name!r}").connect(
        Site(environment=work.around.environment, state=work.around.state, now=utc_now)
    )
    order = Order(
        host=stated.host,
        offer=stated.offer,
        campaign=work.plan.campaign,
        run=work.plan.run,
        expires=utc_now() + _time_needed(work),
        price=_price(first),
    )
    machine = driver.acquire(order, work.record)
    work.held[host] = Held(driver=driver, machine=machine)
    costs = host_of(work.plan, host)
    work.spending.rent(host, costs.usd_per_hour, costs.billing, time.monotonic())
    machine = driver.ready(machine, work.record)
    work.held[host].machine = machine
    return machine


def release(work: Underway) -> None:
    """Give all machines back; each is tried, whatever becomes of the others.

    Raises
    ------
    StillBilled
        If one of them may still cost money.
    """
    errors: list[RunoffError] = []
    for host, held in tuple(work.held.items()):
        try:
            held.driver.release(held.machine, work.record)
        except RunoffError as error:
            errors.append(error)
            continue
        del work.held[host]
        work.spending.give_back(host, time.monotonic())
    work.record_spent()
    if errors:
        seen = "; ".join(str(error) for error in errors)
        raise StillBilled("release", seen, "Look at runoff machines, and release them")


def describe(work: Underway, host: str, machine: Machine) -> HostFile:
    """The machine as it says that it is, written into the run directory."""
    facts = facts_here(host, utc_now())
    threats = [
        f"{each.name}: {placed.threat}"
        for each in _candidates(work, host)
        if (placed := placement(work, each.name)).threat is not None
    ]
    file = HostFile(
        host=host,
        driver=machine.driver,
        seen_at=facts.captured_at.isoformat(timespec="seconds"),
        facts=dict(_flat(facts.to_json())),
        threats=tuple(threats),
    )
    work.store.write(f"hosts/{host}/system.json", file_text(file))
    return file


def placement(work: Underway, candidate: str) -> CpuPlacement:
    """Which CPUs of this machine the candidate's server has, and which the load.

    Raises
    ------
    InfrastructureError
        If the server is to run on a CPU that it may not use.
    """
    cpu = facts_here(LOCAL, utc_now()).cpu
    stated = work.candidate(candidate).settings.get("cpus", ())
    return place(candidate, tuple(stated), cpu.allowed, cpu.cores)


def load_host(work: Underway, candidate: str) -> str:
    """From which machine the load of a candidate comes."""
    del candidate  # every host that a driver gives out today is this one
    return work.plan.load_from if work.plan.load_from not in _HERE else LOCAL


_HERE: Final = ("orchestrator", "candidate", LOCAL)


def _candidates(work: Underway, host: str) -> tuple[CandidateFacts, ...]:
    return tuple(each for each in work.plan.candidates if each.measured and each.host == host)


def _time_needed(work: Underway) -> dt.timedelta:
    if work.plan.budget_hours is not None:
        return dt.timedelta(hours=work.plan.budget_hours) + _SPARE
    return dt.timedelta(seconds=2 * totals(work.plan.estimate).wall_s.high) + _SPARE


def _price(facts: CandidateFacts) -> Quantity | None:
    price = facts.price
    if price is None:
        return None
    date = None if price.date is None else dt.date.fromisoformat(price.date)
    return Quantity(
        value=price.value, unit=price.unit, basis=price.basis, source=price.source, date=date
    )


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested facts as names with dots, for tables."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
