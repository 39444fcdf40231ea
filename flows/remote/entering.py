"""From a machine that a driver gave out to a host that is asked questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from flows.clouds.protocol import Driver, Machine
from flows.clouds.ssh_hosts import SshHosts
from flows.entering import login_to
from flows.remote.host import RemoteHost
from flows.remote.login import PORT, Login
from flows.remote.lost import HostLostError
from flows.ssh import login_of

BOOT_S: Final = 300.0  # a rented machine runs before its SSH server does
_PAUSE_S: Final = 1.0


def entered(
    driver: Driver,
    machine: Machine,
    *,
    environment: Mapping[str, str] | None = None,
    boot_s: float = BOOT_S,
    tell: Callable[[str], None] = lambda _why: None,
) -> RemoteHost:
    """The machine's host, connected and equipped.

    That of a team's own host belongs to its driver and ends with the release; any other is
    the caller's to close, and is waited for until its SSH server is up.

    Parameters
    ----------
    environment
        Whose OpenSSH configuration says by which way its address is reached; None: directly.
    tell
        Hears while it is waited for; what it raises ends the wait.

    Raises
    ------
    HostLostError
        If it does not answer in time.
    InfrastructureError
        If its key is not the known one, it does not let us in, or it lacks what we need.
    """
    if isinstance(driver, SshHosts):
        return driver.host(machine)
    login = login_to(machine)
    if environment is not None:
        login = by_configuration(login, environment)
    host = RemoteHost(login)
    try:
        _wait_until_up(host, boot_s, tell)
    except BaseException:
        host.close()
        raise
    return host


def _wait_until_up(host: RemoteHost, boot_s: float, tell: Callable[[str], None]) -> None:
    until_s = time.monotonic() + boot_s
    while True:
        try:
            host.ask("clock")
        except HostLostError:
            if time.monotonic() > until_s:
                raise
            tell(f"{host.name}: its SSH server is not up yet")
            time.sleep(_PAUSE_S)
        else:
            return


def by_configuration(login: Login, environment: Mapping[str, str]) -> Login:
    """The login by the way that the user's OpenSSH configuration has to its address.

    A company's machines are often reached through a host of its own (``ProxyJump``).
    """
    asked = login_of(login.address, environment)
    port = asked.port if login.port == PORT else login.port
    return replace(login, address=asked.address, port=port, jump=asked.jump)
