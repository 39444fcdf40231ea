"""Machines that a team has already, over SSH: ``host: ssh:NAME``. Nothing is rented.

NAME is an alias of the OpenSSH configuration, or ``user@host:port``. The host itself holds the
lock for us, the same that campaigns on it take; it lets go of it when nobody has renewed it
for a quarter of an hour, or when the campaign's time is over.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flows.bench.places import write_whole
from flows.clouds.protocol import (
    ACQUIRED,
    ACQUIRING,
    HELD,
    LEFT_BEHIND,
    NOT_ACQUIRED,
    NOT_RELEASED,
    READY,
    RELEASED,
    RELEASING,
    Login,
    Machine,
    Offering,
    Order,
    Owned,
    Record,
    Site,
    machine_from_json,
)
from flows.errors import InfrastructureError, RunoffError
from flows.remote.job_folder import lives, read, this_process

if TYPE_CHECKING:
    from flows.remote.host import RemoteHost

NAME: Final = "ssh_hosts"
DEAD: Final = "dead"
PREFIX: Final = "ssh:"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


def serves(host: str | None, offer: str | None) -> bool:
    """Whether a candidate's ``host`` means a machine over SSH."""
    del offer  # an offer beside it only states what the machine is
    return host is not None and host.startswith(PREFIX)


def configured(site: Site) -> bool:
    """Whether this user has ever acquired a host here."""
    return _folder(site).is_dir()


def connect(site: Site) -> SshHosts:
    """The driver; which machines are ours is kept in the user's state folder."""
    return SshHosts(site=site)


@dataclass(slots=True, kw_only=True)
class SshHosts:
    """Gives out hosts under their own locks; they have no price but what the order states.

    A host that was acquired here stays connected until it is released.
    """

    site: Site
    name: str = NAME
    _hosts: dict[str, RemoteHost] = field(default_factory=dict)

    def offers(self) -> tuple[Offering, ...]:
        """The aliases of the OpenSSH configuration."""
        from flows.ssh import aliases  # noqa: PLC0415 - paramiko takes a while to import

        return tuple(
            Offering(name=f"{PREFIX}{alias}", title=f"{alias} of the OpenSSH configuration")
            for alias in aliases(self.site.environment)
        )

    def acquire(self, order: Order, record: Record) -> Machine:
        """The host, locked; InfrastructureError with who holds it, or why it is not entered."""
        record(ACQUIRING, **order.to_json())
        job = _job_name(order)
        try:
            machine = self._held(order, job)
        except RunoffError as error:
            self._forget(job)
            self._leave((order.host or "").removeprefix(PREFIX))
            record(NOT_ACQUIRED, host_id=order.host_id, seen=error.seen)
            raise
        try:
            record(ACQUIRED, machine=machine.to_json())
        except BaseException:
            self._free(machine)
            raise
        return machine

    def ready(self, machine: Machine, record: Record) -> Machine:
        """The machine when its agent has answered."""
        self.host(machine).ask("clock")
        record(READY, machine=machine.to_json())
        return machine

    def release(self, machine: Machine, record: Record) -> None:
        """End all that the campaign has left there, and unlock it if the lock is still its own.

        Raises
        ------
        InfrastructureError
            If the host cannot be asked: it lets go by itself when the lease is over.
        """
        try:
            record(RELEASING, id=machine.id)
        finally:
            try:
                self._free(machine)
            except RunoffError as error:
                record(NOT_RELEASED, id=machine.id, seen=error.seen)
                raise
        record(RELEASED, id=machine.id)

    def list_owned(self) -> tuple[Owned, ...]:
        """Hosts that were acquired from here and not released, as they say themselves."""
        owned = (self._owned(path) for path in sorted(self._folder.glob("*.json")))
        return tuple(each for each in owned if each is not None)

    def host(self, machine: Machine) -> RemoteHost:
        """The connected host of a machine, for launches and loads; it ends with the release."""
        return self._connected(machine.id.rpartition("#")[0])

    @property
    def _folder(self) -> Path:
        return _folder(self.site)

    def _connected(self, name: str) -> RemoteHost:
        from flows.remote.host import RemoteHost  # noqa: PLC0415 - see above
        from flows.ssh import login_of  # noqa: PLC0415

        if name not in self._hosts:
            self._hosts[name] = RemoteHost(login_of(name, self.site.environment))
        return self._hosts[name]

    def _held(self, order: Order, job: str) -> Machine:
        from flows.remote.holding import hold  # noqa: PLC0415

        name = (order.host or "").removeprefix(PREFIX)
        host = self._connected(name)
        machine = Machine(
            id=f"{name}#{job}",
            driver=NAME,
            host_id=order.host_id,
            is_local=False,
            address=host.login.address,
            price=order.price,
            campaign=order.campaign,
            run=order.run,
            acquired_at=self.site.now(),
            expires=order.expires,
            login=Login(user=host.login.user, port=host.login.port),
        )
        released = self._released(name)
        self._remember(job, machine)
        left_s = (order.expires - self.site.now()).total_seconds()
        noted = hold(host, job, campaign=order.campaign, run=order.run, seconds=left_s)
        noted |= {"released": ", ".join(released)} if released else {}
        machine = machine_from_json({**machine.to_json(), "noted": noted})
        self._remember(job, machine)
        return machine

    def _released(self, name: str) -> tuple[str, ...]:
        """End what campaigns of this machine that are dead still hold there; their runs."""
        from flows.remote.holding import let_go  # noqa: PLC0415

        left = [path for path in self._records(name) if not _is_alive(path)]
        runs = [machine.run for path in left if (machine := _read(path)) is not None]
        for path in left:
            let_go(self._connected(name), path.stem)
            path.unlink(missing_ok=True)
        return tuple(runs)

    def _records(self, name: str) -> list[Path]:
        """Records of machines on one host."""
        found = {path: _read(path) for path in sorted(self._folder.glob("*.json"))}
        return [
            path
            for path, each in found.items()
            if each is not None and each.id.rpartition("#")[0] == name
        ]

    def _free(self, machine: Machine) -> None:
        from flows.remote.holding import let_go  # noqa: PLC0415

        name, _, job = machine.id.rpartition("#")
        let_go(self._connected(name), job)
        self._forget(job)
        self._leave(name)

    def _leave(self, name: str) -> None:
        """Close the connection to a host of which nothing is ours any more."""
        if not self._records(name):
            host = self._hosts.pop(name, None)
            if host is not None:
                host.close()

    def _owned(self, path: Path) -> Owned | None:
        from flows.remote.holding import holding  # noqa: PLC0415

        machine = _read(path)
        if machine is None:
            return None
        try:
            seen = holding(self.host(machine), path.stem)
        except InfrastructureError as error:
            # what cannot be asked has let go by itself when its time is over
            seen = None if self.site.now() > machine.expires else error.seen
        if seen is None:
            path.unlink(missing_ok=True)
            return None
        return Owned(
            machine=machine,
            state=HELD if seen != DEAD and _is_alive(path) else LEFT_BEHIND,
            holder=f"campaign {machine.campaign!r}, run {machine.run}, on {machine.address}",
            is_billed=False,
            seen=seen,
        )

    def _remember(self, job: str, machine: Machine) -> None:
        """Note the machine, and that it is this process that needs it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        noted = {"machine": machine.to_json(), "process": this_process()}
        write_whole(self._folder / f"{job}.json", json.dumps(noted) + "\n")

    def _forget(self, job: str) -> None:
        (self._folder / f"{job}.json").unlink(missing_ok=True)


def _folder(site: Site) -> Path:
    return site.state / "ssh-hosts"


def _job_name(order: Order) -> str:
    parts: tuple[Any, ...] = (order.campaign, order.run)
    told = "-".join(_UNFIT.sub("-", part) for part in parts)
    return f"hold-{told}-{secrets.token_hex(4)}"


def _read(path: Path) -> Machine | None:
    try:
        return machine_from_json(read(path)["machine"])
    except (KeyError, TypeError, ValueError):
        return None


def _is_alive(path: Path) -> bool:
    noted = read(path)
    return noted is not None and lives(*noted["process"])
