"""The lock of a host, held there for a campaign that runs here."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from flows.errors import InfrastructureError, LaunchError
from flows.launch.ending import steps
from flows.remote.hold import HELD, REFUSED
from flows.remote.host import RemoteHost
from flows.remote.job import RemoteJob, begin, job_folder
from flows.remote.job_folder import LOG, ORDER

LEASE_S: Final = 900.0
_WAIT_S: Final = 30.0
_LOOK_S: Final = 0.05
_UNDERWAY: Final = ("starting", "running")


def hold(
    host: RemoteHost,
    name: str,
    *,
    campaign: str,
    run: str,
    seconds: float,
    lease_s: float = LEASE_S,
) -> dict[str, str]:
    """Hold the host's lock until ``let_go``, or for so long; what was found there.

    Whatever a dead campaign of this user has left running on the host is ended, and what it
    left lying there of its launches is removed.

    Raises
    ------
    InfrastructureError
        If somebody else holds it, with who.
    """
    asked = json.dumps({"campaign": campaign, "run": run, "seconds": seconds})
    job = begin(
        host,
        name,
        host.equipped.program("flows.remote.hold", asked),
        lease_s=lease_s,
        manner=steps("SIGTERM", 10.0, "SIGKILL"),
        note={"kind": "hold", "campaign": campaign, "run": run},
    )
    told = _outcome(host, job)
    noted = {
        "took_over": told["took_over"] or "",
        "ended": ", ".join(end_jobs(host, except_for=name)),
        "swept": ", ".join(_swept(host)),
    }
    return {what: seen for what, seen in noted.items() if seen}


def let_go(host: RemoteHost, name: str) -> None:
    """End what the campaign has left, then its holding; nothing where that is over already."""
    job = RemoteJob(
        host=host, folder=job_folder(host, name), log=f"{job_folder(host, name)}/{LOG}"
    )
    job.look()
    told = _read(host, job, HELD)
    is_ours = job.stage in _UNDERWAY
    if is_ours or not any(each["is_alive"] for each in host.ask("lock_holders")):
        end_jobs(host, except_for=name)
        _swept(host)
    if is_ours:
        job.end()
    if told is not None:
        host.ask("unlock", token=told["holder"]["token"])
    job.forget()


def holding(host: RemoteHost, name: str) -> str | None:
    """``held``, ``dead`` (its process is, and its lock's words stand), or None: it is over."""
    job = RemoteJob(host=host, folder=job_folder(host, name), log="")
    stage = host.ask("stage", folder=job.folder)
    if stage in _UNDERWAY:
        return "held"
    told = _read(host, job, HELD)
    tokens = {each["token"] for each in host.ask("lock_holders")}
    return "dead" if told is not None and told["holder"]["token"] in tokens else None


def end_jobs(host: RemoteHost, *, except_for: str) -> tuple[str, ...]:
    """End all jobs of ours on the host but one; the names of those that ran.

    Orders that were never started go: they hold what a server is not to tell.
    """
    found: dict[str, Any] = host.ask("jobs", folder=f"{host.equipped.root}/jobs")
    names = [
        name
        for name, seen in found.items()
        if name != except_for and seen["stage"] in _UNDERWAY and _kind(seen) != "hold"
    ]
    for name in names:
        folder = job_folder(host, name)
        RemoteJob(host=host, folder=folder, log=f"{folder}/{LOG}").end()
    for name, seen in found.items():
        if name != except_for and seen["stage"] == "ordered":
            host.ask("forget", folder=job_folder(host, name))
        if seen["stage"] == "lost":  # its guard may still be at work in the folder
            host.ask("remove_file", path=f"{job_folder(host, name)}/{ORDER}")
    return tuple(names)


def _swept(host: RemoteHost) -> list[str]:
    """Launches that are over and whose files were removed."""
    names: list[str] = host.ask("sweep", root=host.equipped.root)
    return names


def _kind(seen: dict[str, Any]) -> str | None:
    note: dict[str, str] = seen.get("note", {})
    return note.get("kind")


def _outcome(host: RemoteHost, job: RemoteJob) -> dict[str, Any]:
    """What the holding process wrote when it had the lock, or had it not."""
    until_s = time.monotonic() + _WAIT_S
    while time.monotonic() < until_s:
        job.look()
        told = _read(host, job, HELD)
        if told is not None:
            return told
        refused = _read(host, job, REFUSED)
        if refused is not None:
            job.end()
            job.forget()
            raise InfrastructureError(host.where, refused["seen"], refused["do"])
        if job.is_over:
            break
        time.sleep(_LOOK_S)
    said = (host.ask("text", path=job.log) or "").strip()[-300:]
    job.end()
    job.forget()
    raise LaunchError("no lock", host.where, f"its lock was not taken: {said or '?'}", "")


def _read(host: RemoteHost, job: RemoteJob, name: str) -> dict[str, Any] | None:
    text = host.ask("text", path=f"{job.folder}/{name}")
    found: dict[str, Any] | None = None if text is None else json.loads(text)
    return found
