"""From a machine that a driver gave out to a host that is asked questions."""

from __future__ import annotations

import time
from typing import Final

from flows.clouds.protocol import Driver, Machine
from flows.clouds.ssh_hosts import SshHosts
from flows.entering import login_to
from flows.remote.host import RemoteHost
from flows.remote.lost import HostLostError

BOOT_S: Final = 300.0  # a rented machine runs before its SSH server does
_PAUSE_S: Final = 1.0


def entered(driver: Driver, machine: Machine, *, boot_s: float = BOOT_S) -> RemoteHost:
    """The machine's host, connected and equipped.

    That of a team's own host belongs to its driver and ends with the release; any other is
    the caller's to close, and is waited for until its SSH server is up.

    Raises
    ------
    HostLostError
        If it does not answer in time.
    InfrastructureError
        If its key is not the known one, it does not let us in, or it lacks what we need.
    """
    if isinstance(driver, SshHosts):
        return driver.host(machine)
    host = RemoteHost(login_to(machine))
    try:
        _wait_until_up(host, boot_s)
    except BaseException:
        host.close()
        raise
    return host


def _wait_until_up(host: RemoteHost, boot_s: float) -> None:
    until_s = time.monotonic() + boot_s
    while True:
        try:
            host.ask("clock")
        except HostLostError:
            if time.monotonic() > until_s:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
