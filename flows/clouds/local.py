"""This machine as a host: nothing is rented, one campaign at a time may have it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    Machine,
    Offering,
    Order,
    Owned,
    Record,
    Site,
)
from flows.errors import InfrastructureError
from flows.host_lock import Holder, free, holdings, lock_folder, take

HOST: Final = "local"


def serves(host: str | None, offer: str | None) -> bool:
    """Whether a candidate's ``host`` and ``offer`` mean this machine."""
    del offer  # an offer beside it only states what the machine is
    return host == HOST


def connect(site: Site) -> Local:
    """The driver of this machine; its lock lies where all users' locks meet."""
    return Local(site=site, locks=lock_folder(site.environment))


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Gives out this machine under its lock; it has no price but what the order states."""

    site: Site
    locks: Path
    name: str = HOST

    def offers(self) -> tuple[Offering, ...]:
        """This machine."""
        return (Offering(name=HOST, title="this machine"),)

    def acquire(self, order: Order, record: Record) -> Machine:
        """This machine, locked; InfrastructureError with who holds it."""
        record(ACQUIRING, **order.to_json())
        try:
            holder, before = take(
                self.locks,
                HOST,
                campaign=order.campaign,
                run=order.run,
                now=self.site.now(),
                expires=order.expires,
            )
        except InfrastructureError as error:
            record(NOT_ACQUIRED, host_id=order.host_id, seen=error.seen)
            raise
        machine = _machine(holder, order, before)
        try:
            record(ACQUIRED, machine=machine.to_json())
        except BaseException:
            free(self.locks, HOST, machine.id)
            raise
        return machine

    def ready(self, machine: Machine, record: Record) -> Machine:
        """The machine itself: it is up."""
        record(READY, machine=machine.to_json())
        return machine

    def release(self, machine: Machine, record: Record) -> None:
        """Unlock it, if the lock is still this machine's.

        Raises
        ------
        InfrastructureError
            If the process that holds it lives and is not this one.
        """
        try:
            record(RELEASING, id=machine.id)
        finally:
            self._free(machine, record)
        record(RELEASED, id=machine.id)

    def _free(self, machine: Machine, record: Record) -> None:
        try:
            free(self.locks, HOST, machine.id)
        except InfrastructureError as error:
            record(NOT_RELEASED, id=machine.id, seen=error.seen)
            raise

    def list_owned(self) -> tuple[Owned, ...]:
        """The holding of this machine, if there is one, of the living or the dead."""
        return tuple(
            Owned(
                machine=_machine(holder, None, None),
                state=HELD if holder.is_alive else LEFT_BEHIND,
                holder=str(holder),
                is_billed=False,
            )
            for holder in holdings(self.locks)
            if holder.host == HOST
        )


def _machine(holder: Holder, order: Order | None, before: Holder | None) -> Machine:
    return Machine(
        id=holder.token,
        driver=HOST,
        host_id=order.host_id if order is not None else HOST,
        is_local=True,
        address=None,
        price=order.price if order is not None else None,
        campaign=holder.campaign,
        run=holder.run,
        acquired_at=holder.since,
        expires=holder.expires,
        noted={"took_over": str(before)} if before is not None else {},
    )
