"""By which way the load of a launch reaches its server: beside it, or from another machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deploy_templates.plan import LaunchPlan
from flows.bench.shard import HERE, Place
from flows.errors import InfrastructureError
from flows.hosts.here import LocalHost
from flows.hosts.host import CampaignHost
from flows.launch.running import Running
from flows.load.plan import Endpoint
from flows.measuring.sampling import Sampled
from flows.placing import LOCAL, load_host
from flows.underway import Underway
from reports.run.plan_file import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWay:
    """The server's address, the place of the load, and whose clock stamps it.

    ``clock`` is None where the load runs on the server's own machine.
    """

    endpoint: Endpoint
    place: Place
    clock: Sampled | None = None


def is_apart(work: Underway, visit: Visit) -> bool:
    """Whether the load comes from another machine than the server's."""
    return load_host(work, visit.candidate) != visit.host


def way_of(
    work: Underway, visit: Visit, plan: LaunchPlan, running: Running, cpus: tuple[int, ...]
) -> LoadWay:
    """The way of a launch's load; never through a tunnel.

    Raises
    ------
    InfrastructureError
        If the server is not reached from where the load is to come from.
    """
    server = machine_of(work, visit.host)
    if not is_apart(work, visit):
        return LoadWay(endpoint=running.endpoint(), place=server.load_beside(running, cpus))
    name = load_host(work, visit.candidate)
    source = LocalHost() if name == LOCAL else machine_of(work, name)
    address = f"{server.address}:{plan.port}"
    why = source.reaches(address)
    if why is not None:
        raise InfrastructureError(
            f"load from {name!r}",
            f"{address} is not reached from there: {why}",
            "Open the way to it, or use load_from: candidate",
        )
    return LoadWay(
        endpoint=_reached(running.endpoint(), running.url, address, is_here=source.is_here),
        place=source.load_to({running.url: f"http://{address}"}),
        clock=source.sampled(()),
    )


def place_to(work: Underway, visit: Visit, urls: Iterable[str]) -> Place:
    """The place of load to a service that is measured as it stands."""
    name = load_host(work, visit.candidate)
    return HERE if name == LOCAL else machine_of(work, name).load_to({u: u for u in urls})


def machine_of(work: Underway, host: str) -> CampaignHost:
    """A machine that is ours, entered."""
    held = work.held.get(host)
    if held is None or held.host is None:
        raise InfrastructureError(f"host {host!r}", "it has not been entered", "")
    return held.host


def _reached(endpoint: Endpoint, url: str, address: str, *, is_here: bool) -> Endpoint:
    """The server's address as the load's machine has it.

    It is plain HTTP between two machines of the campaign: prompts are made up, and the key is
    this launch's alone. From elsewhere the plan's address is replaced on the way there.
    """
    if not is_here:
        return endpoint
    path = endpoint.url.removeprefix(url)
    return Endpoint(url=f"http://{address}{path}", headers=endpoint.headers, tls=endpoint.tls)
