"""A host as the place of a cell's load: shards run there as jobs, their files come home.

The load goes from the host to the server on its own loopback; nothing of it passes SSH.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from flows.bench.endings import endings_held, endings_interrupt
from flows.bench.http import LOOPBACK_ONLY
from flows.bench.shard import Job
from flows.errors import InfrastructureError, UsageError
from flows.launch.ending import KILL, steps
from flows.remote.clock import Offset
from flows.remote.host import RemoteHost
from flows.remote.job import RemoteJob, begin, job_folder
from flows.remote.login import Login
from flows.remote.samples import sampled_there

_LOOK_S: Final = 0.5
_WRITE_S: Final = 120.0  # an interrupted load process may take so long to write its file
_WROTE: Final = (0, 130)
_LAST_WORDS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePlace:
    """Shards run on the host of ``login``.

    ``addresses`` says how servers are called there, by what they are called here:
    ``http://127.0.0.1:<tunnel>`` to ``http://127.0.0.1:<port>``. ``server`` is the folder of
    the server's job: when it ends, so does the load. ``cpus`` hold the load to these CPUs.
    ``leaves``: the servers are on other machines.
    """

    login: Login
    addresses: Mapping[str, str]
    server: str | None = None
    cpus: tuple[int, ...] = ()
    leaves: bool = False

    @contextmanager
    def opened(self) -> Iterator[OpenRemotePlace]:
        """The host over a connection of its own."""
        with RemoteHost(self.login, was_there=True) as host:
            yield OpenRemotePlace(place=self, host=host, offset=host.offset())

    @contextmanager
    def sampled(self, lines: Path, *, every_s: float = 1.0) -> Iterator[None]:
        """Clocks, power and CPUs of the host sampled into a file here, as ``sampled_here``.

        Samples are stamped by the host's clock, as the load is.
        """
        with (
            RemoteHost(self.login, was_there=True) as host,
            sampled_there(host, lines, every_s=every_s, cpus=self.cpus),
        ):
            yield

    def ahead_ns(self) -> int:
        """How far the host's monotonic clock is ahead of ours."""
        with RemoteHost(self.login, was_there=True) as host:
            return host.offset().ahead_ns


@dataclass(slots=True, kw_only=True)
class OpenRemotePlace:
    """The host while it is connected."""

    place: RemotePlace
    host: RemoteHost
    offset: Offset
    _foreign: dict[str, Any] | None = None

    def now_ns(self) -> int:
        """The host's monotonic clock, as closely as half a way there and back."""
        return self.offset.there(time.monotonic_ns())

    def foreign(self) -> Mapping[str, Any] | None:
        """Who else used the host beside the last load."""
        return self._foreign

    def run(self, jobs: Sequence[Job], *, meanwhile: Callable[[], float]) -> bool:
        """Shards run side by side on the host; True if interrupted.

        Raises
        ------
        InfrastructureError
            If a shard wrote no raw file, or the host is lost.
        """
        name = f"load-{secrets.token_hex(6)}"
        load = _Load(self.host, self.place, jobs, name)
        interrupted = False
        with endings_interrupt():
            try:
                load.send()
                with endings_held():
                    load.start()
                load.wait(meanwhile)
            except KeyboardInterrupt:
                interrupted = True
                load.interrupt()
            finally:
                load.end()
        self._foreign = load.foreign
        load.fetch(interrupted=interrupted)
        return interrupted


@dataclass(slots=True)
class _Load:
    """The shards of one cell on the host, and what samples the host beside them."""

    host: RemoteHost
    place: RemotePlace
    jobs: Sequence[Job]
    name: str
    shards: list[RemoteJob] = field(default_factory=list)
    sampler: RemoteJob | None = None
    foreign: dict[str, Any] | None = None

    def folder(self, number: int) -> str:
        """A shard's folder on the host."""
        return job_folder(self.host, f"{self.name}-{number}")

    def send(self) -> None:
        """Put the plans there, with the servers' addresses as they are there."""
        for number, job in enumerate(self.jobs):
            there = job.plan.with_name(f"{job.plan.name}.there")
            readdress(job.plan, there, self.place.addresses)
            self.host.ask("lay", folder=self.folder(number), files={}, links={})
            self.host.put(there, f"{self.folder(number)}/plan.jsonl")
            there.unlink()

    def start(self) -> None:
        """Start all shards, then the sampler: it counts them as ours."""
        program = self.host.equipped.program
        for number in range(len(self.jobs)):
            self.shards.append(
                begin(
                    self.host,
                    f"{self.name}-{number}",
                    program("flows.load", "plan.jsonl", "raw"),
                    env=self._environment(),
                    cpus=self.place.cpus,
                    while_lives=self.place.server,
                    note={"kind": "load"},
                )
            )
        roots = [str(each.seen["keeper"][0]) for each in self.shards]
        if self.place.server is not None:
            served = self.host.ask("state", folder=self.place.server)
            roots += [str(served["keeper"][0])] if "keeper" in served else []
        self.sampler = begin(
            self.host,
            f"{self.name}-watch",
            program("flows.remote.watch_load", "foreign.json", *roots),
            manner=steps("SIGINT", 10.0, "SIGKILL"),
            note={"kind": "sampler"},
        )

    def _environment(self) -> dict[str, str]:
        own = self.host.equipped.own_environment
        if self.place.leaves:
            del own[LOOPBACK_ONLY]
        return own

    def wait(self, meanwhile: Callable[[], float]) -> None:
        """Return when all shards have ended; one small question each half second."""
        again_s = time.monotonic() + meanwhile()
        for shard in self.shards:
            while not shard.is_over:
                now_s = time.monotonic()
                if now_s >= again_s:
                    again_s = time.monotonic() + meanwhile()
                time.sleep(max(0.0, min(_LOOK_S, again_s - now_s)))
                shard.look()

    def interrupt(self) -> None:
        """Let the shards write what they have measured, as Ctrl-C does here."""
        for shard in self.shards:
            shard.interrupt()
        for shard in self.shards:
            shard.wait(_WRITE_S)

    def end(self) -> None:
        """End whatever still runs, and take the sampler's account."""
        for shard in self.shards:
            shard.end(KILL)
        if self.sampler is not None:
            self.sampler.end()
            text = self.host.ask("text", path=f"{self.sampler.folder}/foreign.json")
            self.foreign = None if text is None else json.loads(text)
            self.sampler.forget()

    def fetch(self, *, interrupted: bool) -> None:
        """Bring the raw files home; their folders on the host go."""
        for job, shard in zip(self.jobs, self.shards, strict=False):
            code = shard.seen.get("exit_code")
            if code not in _WROTE:
                raise self._silent(job, shard)
            try:
                self.host.get(f"{shard.folder}/raw", job.raw)
            except InfrastructureError:
                if interrupted:
                    raise KeyboardInterrupt from None  # it had not begun: nothing to keep
                raise
            shard.forget()
        if len(self.shards) < len(self.jobs):
            raise KeyboardInterrupt

    def _silent(self, job: Job, shard: RemoteJob) -> InfrastructureError:
        said = (self.host.ask("text", path=shard.log) or "")[-_LAST_WORDS:].strip()
        job.log.write_text(said, encoding="utf-8")
        last = said.splitlines()[-1] if said else "it said nothing"
        why = shard.seen.get("why") or shard.stage
        return InfrastructureError(
            f"the load process on {self.host.name}",
            f"{why} with code {shard.seen.get('exit_code')} and no raw file: {last}",
            "",
        )


def readdress(plan: Path, target: Path, addresses: Mapping[str, str]) -> None:
    """A plan file copied with its servers' addresses as another host calls them.

    Raises
    ------
    UsageError
        If it has one that the host does not know by another name.
    """
    with plan.open("rb") as source, target.open("wb") as file:
        target.chmod(0o600)  # it carries the endpoints' keys
        header = json.loads(source.readline())
        for endpoint in header["endpoints"]:
            endpoint["url"] = _renamed(endpoint["url"], addresses)
        file.write(json.dumps(header).encode() + b"\n")
        for line in source:
            file.write(line)


def _renamed(url: str, addresses: Mapping[str, str]) -> str:
    for here, there in addresses.items():
        if url == here or url.startswith(f"{here}/"):
            return there + url[len(here) :]
    raise UsageError(url, "the load's host has no address for it", "Give it in addresses")
