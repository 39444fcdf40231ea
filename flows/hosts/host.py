"""What a campaign does on a machine that is its own for now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from deploy_templates.plan import LaunchPlan
from flows.bench.shard import Place
from flows.control.host import Host
from flows.foreign_load import HostLoad
from flows.launch.running import Running
from flows.launch.wait import Progress
from flows.launch_plans import Requested
from flows.launching import Prepared
from flows.measuring.sampling import Sampled
from flows.system.facts import SystemFacts


class Settings(Protocol):
    """A machine's settings, held until ``end``."""

    record: Mapping[str, Any]
    """How each came out, as ``flows.control.apply.Control.to_json``."""

    def end(self) -> None:
        """Put them back; ``record`` then says how that went."""


class CampaignHost(Protocol):
    """One machine. Each call has a time limit; errors are RunoffErrors."""

    @property
    def is_here(self) -> bool:
        """Whether it is the machine that runoff runs on."""

    def facts(self, host_id: str) -> SystemFacts:
        """The machine as its own kernel tells it."""

    def hands(self) -> Host:
        """Its programs and small files, with the rights that we have there."""

    def look(self) -> HostLoad:
        """Who else uses it, over about a second."""

    def prepare(
        self,
        requested: Requested,
        *,
        place: Path,
        environment: Mapping[str, str],
        said: Callable[[str], None],
        finished: Callable[[LaunchPlan], LaunchPlan],
        is_port_stated: bool,
    ) -> Prepared:
        """The candidate's release and weights put there; ``place`` is for this machine's."""

    def start(
        self,
        prepared: Prepared,
        folder: Path,
        *,
        name: str,
        environment: Mapping[str, str],
        progress: Callable[[Progress], None],
        is_open: bool,
    ) -> tuple[LaunchPlan, Running]:
        """The plan as it was launched there, and its server, ready.

        ``is_open``: other machines reach it, with its key.
        """

    def load_beside(self, running: Running, cpus: Sequence[int]) -> Place:
        """The machine as the place of a server's own load, held to these CPUs (none: all)."""

    def load_to(self, addresses: Mapping[str, str]) -> Place:
        """The machine as the place of load to servers elsewhere.

        ``addresses`` says how they are called from there, by what they are called here.
        """

    @property
    def address(self) -> str | None:
        """Where others reach it; None: nobody said."""

    def environment(self, ours: Mapping[str, str]) -> Mapping[str, str]:
        """What programs find there; ``ours`` is that of this machine."""

    def reaches(self, address: str) -> str | None:
        """Why ``HOST:PORT`` is not reached from the machine; None: it is."""

    def sampled(self, cpus: Sequence[int]) -> Sampled:
        """The machine's sampler, held to these CPUs (none: all) where they can be given."""

    def hold(self, order: Sequence[Mapping[str, Any]], state: Path) -> Settings:
        """Make settings (``deploy_templates.control``) that last until they are ended.

        They are put back also where we are killed.
        """

    def close(self) -> None:
        """Use it no more."""
