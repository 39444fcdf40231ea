"""What a launch has shown, as a record for whatever is measured on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from flows.launch.phases import PhaseTime
from flows.launch.ports import Ownership
from flows.launch.readback import ReadBack
from flows.launch.ready import FirstToken

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """A server that became ready.

    ``start_ns`` is from the process's start to the first token, and the sum of the durations
    of ``phases``; none of these is known more closely than ``resolution_ns``. ``environment``
    is what the server saw, with a mask for each secret.
    """

    name: str
    runtime: str
    version: str
    form: str
    simulation: bool
    fingerprint: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    mark: str
    pid: int
    started_at: str
    host: str
    port: int
    served_model: str
    models: tuple[str, ...]
    first_token: FirstToken
    start_ns: int
    resolution_ns: int
    phases: tuple[PhaseTime, ...]
    read_back: tuple[ReadBack, ...]
    ownership: Ownership
    threats: tuple[str, ...]

    @property
    def differences(self) -> tuple[ReadBack, ...]:
        """Variables for which the server reports something else than was asked."""
        return tuple(each for each in self.read_back if each.verdict == "differs")

    @property
    def version_seen(self) -> str | None:
        """The release that the server reports of itself; None where it reports none."""
        versions = (each.seen for each in self.read_back if each.variable == "version")
        return next(versions, None)

    def to_json(self) -> dict[str, Any]:
        """The record as plain values."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """How a server ended.

    ``signals`` are those that it took; empty for one that had died before. ``exit_code`` is
    the leader's, or minus the signal that ended it. ``port_is_free`` is false where somebody
    else has taken the port since. ``log`` is compressed (``.zst``) and without secrets; a plain
    one is as the server wrote it, where the disk was full or the file gone. ``cleanup`` says
    what went wrong in the plan's cleanup.
    """

    exit_code: int
    signals: tuple[str, ...]
    duration_ns: int
    port_is_free: bool
    log: str
    cleanup: str | None

    def to_json(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)
