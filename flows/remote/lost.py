"""What is raised when a host cannot be used any more."""

from __future__ import annotations

from flows.errors import InfrastructureError


class HostLostError(InfrastructureError):
    """The connection is gone or was never there; what runs on the host goes on."""


class TakenBackError(InfrastructureError):
    """The host's cloud takes it back: a spot machine's end, within two minutes."""
