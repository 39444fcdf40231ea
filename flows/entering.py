"""From a machine that a cloud gave out to the login by which it is entered."""

from __future__ import annotations

from flows.clouds.protocol import Machine
from flows.errors import InfrastructureError
from flows.remote.login import Login


def login_to(machine: Machine) -> Login:
    """The login of a rented machine; the host key that it was given is the only one trusted.

    Raises
    ------
    InfrastructureError
        If it has no address, or nobody said how it is entered.
    """
    where, told = f"host {machine.host_id!r}", machine.login
    if machine.address is None or told is None:
        missing = "no address" if told is not None else "no login"
        raise InfrastructureError(where, f"it has {missing} yet", "Wait until it is ready")
    return Login(
        name=machine.host_id,
        address=machine.address,
        user=told.user,
        port=told.port,
        keys=() if told.key is None else (told.key,),
        uses_agent=told.key is None,
        pinned=told.host_keys[0] if told.host_keys else None,
    )
