"""Client machines for a load: workers of a Dask cluster, chosen and found to be like us.

Here is the only place that connects to Dask. Its library is an optional extra.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import platform
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from flows.bench.endpoint import is_loopback
from flows.errors import InfrastructureError, UsageError
from flows.load.address import shown
from flows.load.plan import Endpoint

if TYPE_CHECKING:
    from flows.bench.dask_there import Facts

_FLAG: Final = "--dask"
_CONNECT_S: Final = 10.0
_LOUD: Final = ("distributed", "distributed.client")
_SAME: Final = "Install there what is here: all clients of a load are alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A worker that takes one shard: its address in the cluster, its machine's name."""

    worker: str
    name: str


def check_address(address: str) -> None:
    """Return if a load can be sent through a scheduler at this address.

    Raises
    ------
    UsageError
        Without Dask, without an address, or where prompts and keys would pass in the clear.
    """
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(
            _FLAG,
            "Dask is not installed, which loads from several machines",
            "Install runoff with its extra: pip install 'runoff[dask]'",
        )
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not port:
        raise UsageError(
            _FLAG,
            f"{address!r} is no address of a Dask scheduler",
            "As in tls://scheduler.example:8786, or tcp://127.0.0.1:8786 here",
        )
    _refuse_clear(address)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The cluster within the block; TLS as Dask's own settings have it.

    Raises
    ------
    InfrastructureError
        If no scheduler answers.
    """
    from distributed import Client  # noqa: PLC0415 - an extra, and a second of imports

    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # we say ourselves what is lost
    try:
        # first, for a Client waits without end for the greeting of who is no scheduler
        asyncio.run(asyncio.wait_for(_greet(address), _CONNECT_S))
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=_CONNECT_S, set_as_default=False
        )
    except Exception as error:  # noqa: BLE001 - who is no scheduler may answer anything
        told = str(error) if isinstance(error, OSError | TypeError) else ""
        seen = (told or "what listens there is none").splitlines()[0]
        raise InfrastructureError(
            f"{_FLAG} {address}",
            f"no Dask scheduler can be reached: {seen.rstrip('.')}",
            "Start one with `dask scheduler` and workers with `dask worker ADDRESS`",
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_S)


async def _greet(address: str) -> None:
    """Return when a Dask process has named itself there."""
    from distributed.comm.core import connect  # noqa: PLC0415
    from distributed.security import Security  # noqa: PLC0415

    ours: Any = Security()  # type: ignore[no-untyped-call]
    comm: Any = await connect(  # type: ignore[no-untyped-call]
        address, timeout=_CONNECT_S / 2, **ours.get_connection_args("client")
    )
    comm.abort()


def machines(client: Any, count: int, endpoints: Sequence[Endpoint]) -> tuple[Machine, ...]:
    """As many workers as there are shards, of as many machines as there are.

    Raises
    ------
    UsageError
        If there are too few, they are not like us, or an endpoint is not theirs.
    InfrastructureError
        If too few are idle: a load that waits for another one misses its beginning.
    """
    workers: Mapping[str, Any] = client.scheduler_info()["workers"]
    if len(workers) < count:
        raise UsageError(
            "--shards",
            f"{count} shards need as many workers, and the scheduler has {len(workers)}",
            "Start more workers, or ask for fewer shards",
        )
    at_work = {worker for worker, tasks in client.processing().items() if tasks}
    idle = {name: str(known["host"]) for name, known in workers.items() if name not in at_work}
    if len(idle) < count:
        raise InfrastructureError(
            _FLAG,
            f"{count} idle workers are needed, and {len(workers) - len(idle)} of "
            f"{len(workers)} are at work for somebody",
            "Wait for the end of that, or start more workers",
        )
    chosen = spread(idle, count)
    for worker in chosen:
        _refuse_clear(worker)
    _refuse_other_python(client, chosen)
    found = _facts(client, chosen)
    _refuse_foreign_loopback(found, endpoints)
    return tuple(Machine(worker=worker, name=found[worker].name) for worker in chosen)


def spread(hosts: Mapping[str, str], count: int) -> list[str]:
    """So many workers, given with their hosts: one of each host before the second of any."""
    by_host: defaultdict[str, list[str]] = defaultdict(list)
    for worker in sorted(hosts):
        by_host[hosts[worker]].append(worker)
    rounds = zip_longest(*(by_host[host] for host in sorted(by_host)))
    return [worker for worker in chain.from_iterable(rounds) if worker is not None][:count]


def _refuse_clear(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme != "tls" and not is_loopback(parts.hostname or ""):
        raise UsageError(
            _FLAG,
            f"{address} would send prompts and keys in the clear to another host",
            "Use tls:// (Dask's settings distributed.comm.tls), or workers on this machine",
        )


def _refuse_other_python(client: Any, chosen: Sequence[str]) -> None:
    """Asked by Dask's own words: between unlike Pythons nothing of ours can be called."""
    versions: Mapping[str, Any] = client.get_versions()["workers"]
    ours = platform.python_version()
    for worker in chosen:
        theirs = ".".join(versions[worker]["host"]["python"].split(".")[:3])
        if theirs != ours:
            raise UsageError(worker, f"its Python is {theirs}, and ours {ours}", _SAME)


def _facts(client: Any, chosen: Sequence[str]) -> Mapping[str, Facts]:
    from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

    found: Mapping[str, Facts] = client.run(
        dask_there.facts, workers=list(chosen), on_error="return"
    )
    ours = dask_there.version()
    for worker in chosen:
        seen = found.get(worker)
        if isinstance(seen, ImportError):
            raise UsageError(worker, f"it has no runoff: {seen}", _SAME)
        if seen is None or isinstance(seen, Exception):
            raise InfrastructureError(worker, f"it does not answer: {seen}", "")
        if seen.runoff != ours:
            raise UsageError(worker, f"its runoff is {seen.runoff}, and ours {ours}", _SAME)
    return found


def _refuse_foreign_loopback(found: Mapping[str, Facts], endpoints: Sequence[Endpoint]) -> None:
    from flows.bench import dask_there  # noqa: PLC0415 - needs Dask

    here = dask_there.facts().network
    for endpoint in endpoints:
        for worker, facts in found.items():
            is_local = is_loopback(urlsplit(endpoint.url).hostname or "")
            if is_local and facts.network != here:
                raise UsageError(
                    worker,
                    f"{shown(endpoint.url)} is another server on {facts.name} than here",
                    "Give an address that is the same for all client machines",
                )
