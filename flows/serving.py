"""What a launch gives to whoever measures it: a server of ours, or a service as it stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from deploy_templates.plan import LaunchPlan
from flows.bench.endpoint import checked_endpoint
from flows.bench.probe import Survey
from flows.bench.shard import HERE, Place
from flows.errors import InfrastructureError, LaunchError
from flows.interruption import Interrupted
from flows.launch.running import Running
from flows.load.plan import Endpoint, Tls
from flows.measuring.process import MeasuringProcess
from flows.measuring.sampling import Sampling
from flows.placement_cpus import CpuPlacement
from flows.preflight.probes import ask
from flows.remote.lost import TakenBackError
from flows.underway import Underway

_LOOK_S: Final = 0.25  # a system call each time
_AGAIN_S: Final = 5.0  # longer than the end of a load takes


class Serving:
    """What a visit measures: a server of ours or a service, how it counts, who asks it.

    ``plan`` and ``running`` are None for a service. ``place`` is where the load comes from,
    ``sampling`` what is sampled beside it (None: nothing), ``since_s`` the machine's uptime
    before the launch. ``require_kept`` raises TakenBackError once the machine's cloud takes
    it back. ``survey`` is taken once per launch. It is no dataclass: Prefect
    would look through one at every task.
    """

    def __init__(
        self,
        launch: str,
        *,
        endpoints: tuple[Endpoint, ...],
        served_model: str,
        measurer: MeasuringProcess,
        placement: CpuPlacement,
        plan: LaunchPlan | None = None,
        running: Running | None = None,
        place: Place = HERE,
        sampling: Sampling | None = None,
        since_s: float | None = None,
        require_kept: Callable[[], None] = lambda: None,
    ) -> None:
        self.launch = launch
        self.endpoints = endpoints
        self.served_model = served_model
        self.measurer = measurer
        self.placement = placement
        self.plan = plan
        self.running = running
        self.place = place
        self.sampling = sampling
        self.since_s = since_s
        self.require_kept = require_kept
        self.survey: Survey | None = None

    @property
    def load_cpus(self) -> tuple[int, ...]:
        """CPUs to which the load is held; none: all."""
        return self.placement.load or ()


def service_endpoints(work: Underway, candidate: str) -> tuple[tuple[Endpoint, ...], str]:
    """The addresses of a service with its key, and the name by which it has the model."""
    stated = work.candidate(candidate)
    headers = {}
    if stated.api_key_env is not None:
        key = work.around.environment.get(stated.api_key_env, "").strip()
        headers["Authorization"] = f"Bearer {key}"
    endpoints = tuple(checked_endpoint(url, headers, Tls()) for url in stated.endpoint)
    wanted = work.plan.contract.model
    there = ask(stated.endpoint[0], headers).models
    named = wanted if there is None or wanted in there or len(there) != 1 else there[0]
    return endpoints, named


@contextmanager
def watched(serving: Serving) -> Iterator[None]:
    """Within the block the end of server or machine stops the load; at its end it is raised."""
    running = serving.running
    if running is None:
        yield
        return
    died: list[LaunchError | TakenBackError] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            try:
                serving.require_kept()
                running.check()
            except (LaunchError, TakenBackError) as error:
                died.append(error)
                break
        else:
            return
        serving.measurer.stop_load()
        while not is_over.wait(_AGAIN_S):  # a signal to a load that only starts can be lost
            serving.measurer.stop_load()

    thread = threading.Thread(target=look, name="server's life", daemon=True)
    thread.start()
    try:
        yield
    except (InfrastructureError, Interrupted):
        is_over.set()
        thread.join()
        if died:
            raise died[0] from None
        running.check()
        raise
    finally:
        is_over.set()
        thread.join()
    if died:
        raise died[0]
    running.check()
