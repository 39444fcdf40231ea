"""A Dask cluster as the place of a cell's load: one shard on each worker, begun together.

Each shard stamps by its machine's own clock, so latencies need no clock but that one. The
machines' clocks are compared with ours before and after; the stamps that come home are moved
by one offset per machine, so that all of a cell lie on one time line, ours.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from flows.bench.dask_machines import Machine, connected, machines
from flows.bench.endings import endings_held, endings_interrupt
from flows.bench.masking import masked
from flows.bench.one_clock import Compared, moved
from flows.bench.shard import Job
from flows.errors import InfrastructureError
from flows.load.plan import Endpoint
from flows.load.raw import read_raw, write_raw
from flows.remote.clock import Offset, offset_of

LEAD_S: Final = 5.0  # in which load processes start and open their connections
SILENT_S: Final = 30.0  # a machine that shows no sign of life for so long is lost
_LOOK_S: Final = 0.5
_WRITE_S: Final = 120.0  # an interrupted load process may take so long to write its file
_PIECE: Final = 8 << 20
_WROTE: Final = (0, 130)
_VOID: Final = "The cell is void: start its worker again, and measure again"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskPlace:
    """Shards run on workers of the scheduler at ``address``, one on each."""

    address: str
    endpoints: tuple[Endpoint, ...]
    shards: int

    @contextmanager
    def opened(self) -> Iterator[OpenDaskPlace]:
        """The workers, found to be like us."""
        with connected(self.address) as client:
            found = machines(client, self.shards, self.endpoints)
            yield OpenDaskPlace(client=client, machines=found, endpoints=self.endpoints)


@dataclass(slots=True, kw_only=True)
class OpenDaskPlace:
    """The cluster while it is connected."""

    client: Any  # distributed.Client: its methods have no types
    machines: tuple[Machine, ...]
    endpoints: tuple[Endpoint, ...]

    def now_ns(self) -> int:
        """Our clock: by it the raw files are stamped once they are here."""
        return time.monotonic_ns()

    def foreign(self) -> None:
        """Nobody looks at who else used the client machines: each shard's lags tell."""
        return

    def run(self, jobs: Sequence[Job], *, meanwhile: Callable[[], float]) -> bool:
        """Shards run at the same time on the workers; True if interrupted.

        Raises
        ------
        InfrastructureError
            If a machine was lost or a shard wrote no raw file: the cell is void.
        """
        load = _Load(self, jobs)
        interrupted = False
        try:
            with endings_interrupt():
                try:
                    load.send()
                    with endings_held():
                        load.start()
                    load.wait(meanwhile)
                except KeyboardInterrupt:
                    interrupted = True
                    load.interrupt()
            load.fetch(interrupted=interrupted)
        finally:
            load.forget()
        return interrupted


@dataclass(slots=True)
class _Lives:
    """When each worker's sign of life was last a new one, by our clock."""

    _seen: dict[str, tuple[object, float]] = field(default_factory=dict)

    def silent_s(self, worker: str, sign: object, now_s: float) -> float:
        """For how long the sign is the same, in s."""
        last = self._seen.get(worker)
        if last is None or last[0] != sign:
            self._seen[worker] = (sign, now_s)
            return 0.0
        return now_s - last[1]


@dataclass(slots=True)
class _Load:
    """The shards of one cell on their machines."""

    place: OpenDaskPlace
    jobs: Sequence[Job]
    name: str = field(default_factory=lambda: f"runoff-load-{secrets.token_hex(6)}")
    before: list[Offset] = field(default_factory=list)
    futures: list[Any] = field(default_factory=list)
    lives: _Lives = field(default_factory=_Lives)

    def send(self) -> None:
        """Give each worker its plan, and compare its clock with ours."""
        from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

        for machine, job in zip(self.place.machines, self.jobs, strict=True):
            sealed = dask_there.Sealed(
                job.plan.read_bytes(), _authorities(self.place.endpoints)
            )
            self._ask(machine, dask_there.take, self.name, sealed)
        self.before = [self._offset(machine) for machine in self.place.machines]

    def start(self) -> None:
        """Have all begin at one instant, each by its own clock."""
        from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

        zero_ns = time.monotonic_ns() + round(LEAD_S * 1e9)
        for number, (machine, offset) in enumerate(
            zip(self.place.machines, self.before, strict=True)
        ):
            self.futures.append(
                self.place.client.submit(
                    dask_there.load,
                    self.name,
                    offset.there(zero_ns),
                    key=f"{self.name}-{number}",
                    workers=[machine.worker],
                    retries=0,
                    pure=False,
                )
            )

    def wait(self, meanwhile: Callable[[], float]) -> None:
        """Return when all shards have ended; at once if one of them cannot."""
        again_s = time.monotonic() + meanwhile()
        while True:
            is_over = [self._is_over(number) for number in range(len(self.futures))]
            if all(is_over):
                return
            if time.monotonic() >= again_s:
                again_s = time.monotonic() + meanwhile()
            self._refuse_lost(is_over)
            time.sleep(min(_LOOK_S, max(0.0, again_s - time.monotonic())))

    def interrupt(self) -> None:
        """Let the shards write what they have measured, as Ctrl-C does here."""
        from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

        for machine in self.place.machines:
            self._ask(machine, dask_there.interrupt, self.name)
        until_s = time.monotonic() + _WRITE_S
        while not all(each.done() for each in self.futures) and time.monotonic() < until_s:
            self._refuse_lost([each.done() for each in self.futures])
            time.sleep(_LOOK_S)

    def fetch(self, *, interrupted: bool) -> None:
        """Bring the raw files home, with their times on our clock."""
        if len(self.futures) < len(self.jobs):
            raise KeyboardInterrupt  # it had not begun: there is nothing to keep
        anchor = (time.monotonic_ns(), time.time_ns())
        for machine, before, job in zip(
            self.place.machines, self.before, self.jobs, strict=True
        ):
            if not self._brought(machine, job.raw):
                if interrupted:
                    raise KeyboardInterrupt
                raise InfrastructureError(machine.worker, "it left no raw file", _VOID)
            clock = Compared(before=before, after=self._offset(machine))
            told = {"name": machine.name, "worker": machine.worker, **clock.to_json()}
            run = moved(read_raw(job.raw), -clock.ahead_ns, anchor)
            write_raw(
                job.raw, replace(run, client={**run.client, "machine": told}), run.requests
            )

    def forget(self) -> None:
        """End what still runs, and leave nothing on the machines."""
        from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

        with suppress(Exception):  # lost machines have forgotten by themselves
            known = self.place.client.scheduler_info()["workers"]
            there = [each.worker for each in self.place.machines if each.worker in known]
            self._call(there, dask_there.forget, self.name, on_error="ignore")
        for each in self.futures:
            each.release()

    def _is_over(self, number: int) -> bool:
        future, machine = self.futures[number], self.place.machines[number]
        if not future.done():
            return False
        try:
            code, said = future.result(timeout=_LOOK_S)
        except Exception as error:  # noqa: BLE001 - whatever Dask makes of it, the shard failed
            raise self._void(machine, f"its load failed: {_line(str(error))}") from None
        if code not in _WROTE:
            words = masked(_line(said) or "it said nothing", self.place.endpoints)
            raise self._void(machine, f"its load ended with code {code}: {words}")
        return True

    def _refuse_lost(self, is_over: Sequence[bool]) -> None:
        """A lost machine's shard would be waited for without end."""
        try:
            known = self.place.client.scheduler_info()["workers"]
        except Exception as error:  # noqa: BLE001 - Dask's errors have no class in common
            raise InfrastructureError(
                "the Dask scheduler", f"it was lost: {_line(str(error))}", _VOID
            ) from None
        for machine, is_done in zip(self.place.machines, is_over, strict=True):
            if is_done:
                continue
            if machine.worker not in known:
                raise self._void(machine, "it was lost while the load ran")
            signs = known[machine.worker].get("last_seen")
            if self.lives.silent_s(machine.worker, signs, time.monotonic()) > SILENT_S:
                raise self._void(machine, f"it has shown no life for {SILENT_S:g} s")

    def _ask(self, machine: Machine, function: Callable[..., Any], *given: Any) -> Any:
        try:
            return self._call([machine.worker], function, *given)[machine.worker]
        except Exception as error:
            raise self._void(machine, f"it was lost: {_line(repr(error))}") from error

    def _call(
        self, workers: list[str], function: Callable[..., Any], *given: Any, **named: str
    ) -> dict[str, Any]:
        """What the function returns on each; a machine that has stopped is not waited for."""
        found: dict[str, Any] = self.place.client.run(
            function, *given, workers=workers, callback_timeout=SILENT_S, **named
        )
        return found

    def _offset(self, machine: Machine) -> Offset:
        from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

        return offset_of(
            lambda: int(self._ask(machine, dask_there.clock_ns)), time.monotonic_ns
        )

    def _brought(self, machine: Machine, path: Path) -> bool:
        from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

        with path.open("wb") as file:
            while piece := self._ask(machine, dask_there.piece, self.name, file.tell(), _PIECE):
                file.write(piece)
            return file.tell() > 0

    def _void(self, machine: Machine, seen: str) -> InfrastructureError:
        return InfrastructureError(
            f"the client machine {machine.name} ({machine.worker})", seen, _VOID
        )


def _authorities(endpoints: Sequence[Endpoint]) -> dict[int, bytes]:
    return {
        number: Path(endpoint.tls.ca).read_bytes()
        for number, endpoint in enumerate(endpoints)
        if endpoint.tls.ca is not None
    }


def _line(text: str) -> str:
    """The last line of what was said."""
    lines = text.strip().splitlines()
    return lines[-1].rstrip(".") if lines else ""
