"""What a Dask worker does for a load test: its machine is one of the clients.

A worker holds each plan in memory until its load begins, and hands it on by a descriptor: the
endpoints' keys are in no file there, and in no log, since what carries them prints nothing.
The load is a process of its own, which ends with the worker, or when its controller is gone.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import distributed

from flows.bench.scratch import scratch
from flows.bench.shard import LAST_WORDS, Job, start_shard

_LOOK_S: Final = 0.5
_RAW: Final = "raw"
_PACKAGE: Final = Path(__file__).parents[1]
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NETWORK: Final = Path("/proc/self/ns/net")
_ENDING: Final = ("closing", "closed", "failed")  # a worker is that without its scheduler


@dataclass(frozen=True, slots=True)
class Sealed:
    """A shard's plan and the certificates of its authorities; it shows nothing of them."""

    plan: bytes
    authorities: Mapping[int, bytes]

    def __repr__(self) -> str:
        return f"<a plan of {len(self.plan)} bytes>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Which machine a process is on, and which runoff it has.

    ``network`` tells networks of one machine apart: loopback is the same in equal ones only.
    """

    name: str
    network: str
    runoff: str


@dataclass(slots=True)
class _Held:
    """A plan that was taken, its folder and what removes that, its process once it runs."""

    sealed: Sealed
    folder: Path
    ending: ExitStack
    process: subprocess.Popen[bytes] | None = None


_HELD: Final[dict[str, _Held]] = {}


def facts() -> Facts:
    """This process's machine and runoff."""
    return Facts(
        name=socket.gethostname(), network=f"{_BOOT.read_text()}{_network()}", runoff=version()
    )


def version() -> str:
    """The release with a digest of what loads: an editable checkout keeps its number."""
    sources = sorted([*(_PACKAGE / "load").glob("*.py"), Path(__file__)])
    content = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources))
    return f"{importlib.metadata.version('runoff')}+{content.hexdigest()[:8]}"


def _network() -> str:
    return str(_NETWORK.readlink()) if _NETWORK.is_symlink() else ""


def take(name: str, sealed: Sealed) -> None:
    """Keep a plan for the load of this name, with a folder that no other load clears away."""
    ending = ExitStack()
    _HELD[name] = _Held(sealed, ending.enter_context(scratch()), ending)


def clock_ns() -> int:
    """This machine's monotonic clock, by which its load is stamped."""
    return time.monotonic_ns()


def load(name: str, zero_ns: int) -> tuple[int, str]:
    """Run the plan from ``zero_ns`` of this machine's clock; exit code and last words."""
    held = _HELD[name]
    job = Job(plan=held.folder / "plan", raw=held.folder / _RAW)
    with _described(_begun(held, zero_ns)) as plan_fd:
        at = Path(f"/dev/fd/{plan_fd}")
        process = start_shard(Job(plan=at, raw=job.raw), pass_fds=(plan_fd,))
        held.process = process
        is_wanted = _wanted()
        while process.poll() is None:
            try:
                process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                if not is_wanted():
                    process.send_signal(signal.SIGINT)
    if not is_wanted():
        forget(name)  # nobody comes for it
        return process.returncode, ""
    said = job.log.read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
    return process.returncode, said


def interrupt(name: str) -> None:
    """Let the load write what it has measured, as Ctrl-C does."""
    process = _HELD[name].process if name in _HELD else None
    if process is not None and process.poll() is None:
        process.send_signal(signal.SIGINT)


def piece(name: str, offset: int, count: int) -> bytes | None:
    """Bytes of the raw file; None where there is none."""
    path = _HELD[name].folder / _RAW
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(count)


def forget(name: str) -> None:
    """End the load if it still runs, and remove what it left."""
    held = _HELD.pop(name, None)
    if held is None:
        return
    if held.process is not None and held.process.poll() is None:
        held.process.kill()
    held.ending.close()


def _begun(held: _Held, zero_ns: int) -> bytes:
    """The plan with its beginning, and with its authorities' files as they are here."""
    first, _, rest = held.sealed.plan.partition(b"\n")
    header = json.loads(first)
    header["zero_ns"] = zero_ns
    for number, certificate in held.sealed.authorities.items():
        path = held.folder / f"authority-{number}.pem"
        path.write_bytes(certificate)
        header["endpoints"][number]["tls"]["ca"] = str(path)
    return json.dumps(header).encode() + b"\n" + rest


@contextmanager
def _described(content: bytes) -> Iterator[int]:
    """A descriptor of a file that is in no folder."""
    with os.fdopen(os.memfd_create("plan"), "w+b") as file:
        file.write(content)
        file.flush()
        yield file.fileno()


def _wanted() -> partial[bool]:
    """Whether somebody waits for the running task.

    Dask cancels it when its client is gone, and closes a worker whose scheduler is gone.
    """
    worker = distributed.get_worker()
    return partial(_is_wanted, worker, worker.get_current_task())


def _is_wanted(worker: distributed.Worker, key: Any) -> bool:
    task = worker.state.tasks.get(key)
    is_cancelled = task is None or task.state == "cancelled"
    return not is_cancelled and worker.status.name not in _ENDING
