"""A machine over SSH, as a campaign uses it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.bench.shard import HERE, Place
from flows.errors import InfrastructureError
from flows.foreign_load import HostLoad
from flows.launch.ending import steps
from flows.launch.running import Running
from flows.launch.wait import Progress
from flows.launch_plans import Requested
from flows.launching import Prepared
from flows.remote.candidate import prepare_there, start_there
from flows.remote.control import There, controlled
from flows.remote.facts import remote_facts, remote_look
from flows.remote.host import RemoteHost
from flows.remote.job import begin, job_folder
from flows.remote.launching import RemoteRunning
from flows.remote.place import RemotePlace
from flows.system.facts import SystemFacts

CONNECT_S: Final = 5.0
_CONNECTS: Final = (
    "import socket, sys; "
    "socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]))"
)
_SETTINGS_S: Final = 300.0
_LOOK_S: Final = 0.05


class FarHost:
    """A connected host. ``is_own``: nobody else closes the connection."""

    is_here = False

    def __init__(self, host: RemoteHost, *, is_own: bool) -> None:
        self.host = host
        self._is_own = is_own

    def facts(self, host_id: str) -> SystemFacts:
        """As our agent there sees them."""
        return remote_facts(self.host, host_id)

    def hands(self) -> There:
        """Its programs and small files."""
        return controlled(self.host)

    def look(self) -> HostLoad:
        """Who else uses it."""
        return remote_look(self.host)

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
        """The candidate's release and weights, put there once."""
        del place, environment
        return prepare_there(
            self.host, requested, said=said, finished=finished, is_port_stated=is_port_stated
        )

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
        """The server on the host's loopback interface, or on all where it is open; ready."""
        return start_there(
            self.host,
            prepared,
            folder,
            name=name,
            environment=environment,
            progress=progress,
            is_open=is_open,
        )

    def load_beside(self, running: Running, cpus: Sequence[int]) -> Place:
        """The host itself: nothing of the load passes SSH."""
        return running.place(cpus) if isinstance(running, RemoteRunning) else HERE

    def load_to(self, addresses: Mapping[str, str]) -> Place:
        """Load from the host over its own network."""
        return RemotePlace(login=self.host.login, addresses=addresses, leaves=True)

    @property
    def address(self) -> str:
        """The address by which it is entered."""
        return self.host.login.address

    def environment(self, ours: Mapping[str, str]) -> Mapping[str, str]:
        """That of our agent there."""
        del ours
        return self.host.equipped.environment

    def reaches(self, address: str) -> str | None:
        """Why it is not reached from the host; None: it is."""
        host, _, port = address.rpartition(":")
        words = [self.host.equipped.python, "-c", _CONNECTS, host, port, str(CONNECT_S)]
        ran = self.hands().run(words)
        return None if ran.code == 0 else ran.output.strip().rpartition("\n")[2]

    def sampled(self, cpus: Sequence[int]) -> RemotePlace:
        """Its sampler, over a connection of the measuring process's own."""
        return RemotePlace(login=self.host.login, addresses={}, cpus=tuple(cpus))

    def hold(self, order: Sequence[Mapping[str, Any]], state: Path) -> SettingsThere:
        """A controller there that ends with its lease, and puts back what it set."""
        del state
        return SettingsThere(self.host, order)

    def close(self) -> None:
        """End the connection, where it is ours."""
        if self._is_own:
            self.host.close()


class SettingsThere:
    """Settings of a host in the hands of a job there, which outlives us by its lease."""

    def __init__(self, host: RemoteHost, order: Sequence[Mapping[str, Any]]) -> None:
        """Make them; InfrastructureError if the controller says nothing."""
        name = f"control-{secrets.token_hex(6)}"
        asked = {"settings.json": json.dumps(list(order))}
        host.ask("lay", folder=job_folder(host, name), files=asked, links={})
        program = host.equipped.program
        self._job = begin(
            host,
            name,
            program("flows.control", "hold", "settings.json", f"{host.equipped.root}/control"),
            manner=steps("SIGTERM", _SETTINGS_S, "SIGKILL"),
            note={"kind": "control"},
        )
        self._host = host
        try:
            self.record: Mapping[str, Any] = self._first()
        except BaseException:
            with suppress(InfrastructureError):
                self._job.end()
                self._job.forget()
            raise

    def end(self) -> None:
        """Put them back."""
        self._job.end()
        lines = self._lines()
        self._job.forget()
        if len(lines) > 1:
            self.record = lines[-1]

    def _first(self) -> Mapping[str, Any]:
        until_s = time.monotonic() + _SETTINGS_S
        while not (lines := self._lines()):
            self._job.look()
            if self._job.is_over or time.monotonic() > until_s:
                raise InfrastructureError(
                    f"{self._host.where}, its settings",
                    "their controller ended without a word, or takes too long",
                    f"Look into {self._job.log} there",
                )
            time.sleep(_LOOK_S)
        return lines[0]

    def _lines(self) -> list[Mapping[str, Any]]:
        """What the controller has said so far, whole lines only."""
        text: str = self._host.ask("text", path=self._job.log) or ""
        whole = text.rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in whole if line.startswith("{")]
