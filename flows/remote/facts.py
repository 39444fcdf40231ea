"""What a host is and who uses it, read there and handed over as values like our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from flows.foreign_load import LOOK_S, HostLoad
from flows.remote.host import RemoteHost
from flows.system.facts import SystemFacts

_FACTS: Final = TypeAdapter(SystemFacts)
_LOAD: Final = TypeAdapter(HostLoad)
_SPARE_S: Final = 30.0


def remote_facts(host: RemoteHost, host_id: str) -> SystemFacts:
    """Facts of the host as our agent there sees them, with what the host lets it have."""
    return _FACTS.validate_python(host.ask("facts", host_id=host_id))


def remote_look(
    host: RemoteHost, roots: Sequence[int] = (), *, seconds: float = LOOK_S
) -> HostLoad:
    """Who else uses the host, over about a second; ``roots`` are ours there."""
    limit_s = seconds + _SPARE_S
    found = host.ask("foreign_load", limit_s=limit_s, seconds=seconds, roots=list(roots))
    return _LOAD.validate_python(found)
