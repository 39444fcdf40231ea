"""A host's telemetry beside a cell: the sampler runs there, its lines come home."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from flows.errors import InfrastructureError
from flows.launch.ending import steps
from flows.remote.host import RemoteHost
from flows.remote.job import begin
from flows.telemetry.home import seconds_after

_FILE: Final = "samples.jsonl"
_START_S: Final = 30.0
_LOOK_S: Final = 0.05


@contextmanager
def sampled_there(
    host: RemoteHost, lines: Path, *, every_s: float = 1.0, cpus: tuple[int, ...] = ()
) -> Iterator[None]:
    """Samples of the host into a file here for the time of the block, and a little longer.

    The block starts when the first sample is written. ``cpus`` are those that the sampler and
    the vendor's tool are held to, as in ``sampled_here``.

    Raises
    ------
    InfrastructureError
        If the sampler does not come up, with its last words.
    """
    job = begin(
        host,
        f"samples-{secrets.token_hex(6)}",
        host.equipped.program("flows.telemetry", _FILE, "--every", str(every_s)),
        cpus=cpus,
        manner=steps("SIGTERM", 10.0, "SIGKILL"),
        note={"kind": "sampler"},
    )
    path = f"{job.folder}/{_FILE}"
    try:
        until_s = time.monotonic() + _START_S
        while not host.ask("text", path=path):
            job.look()
            if job.is_over or time.monotonic() > until_s:
                said = (host.ask("text", path=job.log) or "").strip()[-300:]
                raise InfrastructureError(
                    host.where, f"its sampler did not start: {said or 'it said nothing'}", ""
                )
            time.sleep(_LOOK_S)
        yield
        time.sleep(seconds_after(host.ask("text", path=path) or ""))
    finally:
        job.end()
        if host.ask("sha256", path=path) is not None:
            host.get(path, lines)
        job.forget()
