"""Which CPUs of a host the load may use while a server runs on others of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flows.errors import InfrastructureError
from flows.system.facts import Core


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPlacement:
    """CPUs of the server and of the load on one host.

    ``load`` is what ``os.sched_setaffinity`` takes for the load process; None where there is
    no part of the host that the server leaves free. ``threat`` is what that does to the
    measurement, None where the two share no physical core.
    """

    server: tuple[int, ...]
    load: tuple[int, ...] | None
    threat: str | None


def place(
    name: str, stated: Sequence[int], allowed: Sequence[int], cores: Sequence[Core]
) -> CpuPlacement:
    """Where the load of candidate ``name`` runs beside its server.

    Parameters
    ----------
    stated
        The candidate's ``settings.cpus``; none: the server may use every CPU.
    allowed
        The CPUs that this process may use.
    cores
        The host's physical cores; where the kernel tells none, each CPU is taken for one.

    Raises
    ------
    InfrastructureError
        If the server is to run on a CPU that it may not use.
    """
    _check(name, stated, allowed)
    if not stated:
        return CpuPlacement(server=(), load=None, threat=_unbound(allowed, cores))
    server = set(stated)
    rest = [cpu for cpu in sorted(allowed) if cpu not in server]
    taken = {cpu for core in cores if server & set(core.cpus) for cpu in core.cpus}
    apart = tuple(cpu for cpu in rest if cpu not in taken)
    return CpuPlacement(
        server=tuple(sorted(server)),
        load=apart or tuple(rest) or None,
        threat=None if apart else _shared(rest),
    )


def _check(name: str, stated: Sequence[int], allowed: Sequence[int]) -> None:
    missing = sorted(set(stated) - set(allowed))
    if missing:
        raise InfrastructureError(
            f"candidate {name!r}, settings.cpus",
            f"CPU {', '.join(map(str, missing))} is not among those that may be used here "
            f"({', '.join(map(str, sorted(allowed)))})",
            "State others",
        )


def _unbound(allowed: Sequence[int], cores: Sequence[Core]) -> str:
    """The threat, and the split that would remove it."""
    groups = [set(core.cpus) & set(allowed) for core in cores] or [{cpu} for cpu in allowed]
    usable = [group for group in groups if group]
    advice = "load from another host"
    if len(usable) > 1:
        ours = sorted(cpu for group in usable[:-1] for cpu in group)
        advice = f"state cpus: [{', '.join(map(str, ours))}] in its settings"
    return f"server and load share all CPUs of one host: {advice}"


def _shared(rest: Sequence[int]) -> str:
    if rest:
        return (
            "the load runs on hardware threads of the server's own physical cores: "
            "leave it a core of its own"
        )
    return (
        "the server has all CPUs that may be used here, and the load runs on the same: "
        "leave it a core, or load from another host"
    )
