"""The machine that runoff runs on, as a campaign uses it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.bench.places import write_whole
from flows.bench.shard import HERE, Place
from flows.control.host import Here, administrator
from flows.errors import InfrastructureError, UsageError
from flows.foreign_load import HostLoad, look
from flows.hosts.lines import line_within
from flows.launch.running import Running
from flows.launch.wait import Progress
from flows.launch_plans import Requested
from flows.launching import Prepared, prepare, start_server
from flows.measuring.sampling import SampledHere
from flows.system.facts import SystemFacts
from flows.system.here import facts_here
from flows.underway import utc_now

CONNECT_S: Final = 5.0
_SETTINGS_S: Final = 300.0  # eight devices with a slow driver


class LocalHost:
    """This machine."""

    is_here = True

    def facts(self, host_id: str) -> SystemFacts:
        """Its facts now."""
        return facts_here(host_id, utc_now())

    def hands(self) -> Here:
        """Its programs and small files."""
        return Here(prefix=administrator())

    def look(self) -> HostLoad:
        """Who else uses it."""
        return look()

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
        """The candidate's release, put here."""
        return prepare(
            requested,
            place=place,
            environment=environment,
            said=said,
            finished=finished,
            is_port_stated=is_port_stated,
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
        """The server, ready; its folder names it."""
        if is_open:
            raise UsageError(
                f"candidate {prepared.requested.name!r}",
                "a server on this machine is reached from this machine alone",
                "Use load_from: candidate",
            )
        del name
        return start_server(prepared, folder, environment=environment, progress=progress)

    def load_beside(self, running: Running, cpus: Sequence[int]) -> Place:
        """This machine; the measuring process is held to the CPUs itself."""
        del running, cpus
        return HERE

    def load_to(self, addresses: Mapping[str, str]) -> Place:
        """This machine: whoever asks has the addresses already."""
        del addresses
        return HERE

    @property
    def address(self) -> None:
        """Nobody said."""
        return

    def environment(self, ours: Mapping[str, str]) -> Mapping[str, str]:
        """Ours."""
        return ours

    def reaches(self, address: str) -> str | None:
        """Why it is not reached from here; None: it is."""
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), CONNECT_S).close()
        except OSError as error:
            return error.strerror or str(error)
        return None

    def sampled(self, cpus: Sequence[int]) -> SampledHere:
        """Its sampler."""
        return SampledHere(tuple(cpus))

    def hold(self, order: Sequence[Mapping[str, Any]], state: Path) -> SettingsHere:
        """A controller that ends with us, and puts back what it set."""
        return SettingsHere(order, state)

    def close(self) -> None:
        """Nothing: we run on it."""


class SettingsHere:
    """Settings of this machine in the hands of a process that outlives a kill of ours."""

    def __init__(self, order: Sequence[Mapping[str, Any]], state: Path) -> None:
        """Make them; InfrastructureError if the controller says nothing."""
        state.mkdir(parents=True, exist_ok=True)
        asked = state / "order.json"
        write_whole(asked, json.dumps(list(order)))
        words = [sys.executable, "-P", "-s", "-m", "flows.control", "hold"]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [*words, str(asked), str(state), "--with-caller"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C ends it through us alone
        )
        try:
            self.record: Mapping[str, Any] = self._said()
        except BaseException:
            self._close()
            raise

    def end(self) -> None:
        """Put them back."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()  # it waits for that
        try:
            self.record = self._said()
        finally:
            self._close()

    def _said(self) -> Mapping[str, Any]:
        line = line_within(self._process.stdout, _SETTINGS_S)
        if not line:
            raise InfrastructureError(
                "settings of this machine",
                "their controller ended without a word, or takes too long",
                "The next campaign puts back what is left",
            )
        record: Mapping[str, Any] = json.loads(line)
        return record

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        try:
            self._process.wait(_SETTINGS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
