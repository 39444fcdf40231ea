"""What we own, out of what the clouds list and what ledgers say; pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flows.clouds.protocol import (
    ACQUIRED,
    HELD,
    LEFT_BEHIND,
    READY,
    RELEASED,
    Machine,
    Owned,
    machine_from_json,
)

UNCONFIRMED: Final = "not confirmed"
KEPT: Final = "kept"  # a campaign's word that a machine stays for a look until then
CLOCKS_APART: Final = dt.timedelta(minutes=15)  # of whoever got it, and ours
_HOUR_S: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Something that is ours, with what it has cost until ``at``.

    ``state`` is that of ``Owned``, or ``not confirmed``: only a ledger says that it is there.
    """

    owned: Owned
    at: dt.datetime

    @property
    def machine(self) -> Machine:
        """The machine; its price comes from the ledger where the cloud does not tell it."""
        return self.owned.machine

    @property
    def is_expired(self) -> bool:
        """Whether it should be gone by now."""
        return self.at >= self.machine.expires

    @property
    def is_abandoned(self) -> bool:
        """Whether it may be removed unasked: nobody who lives needs it, or its time is over.

        What a living campaign of this user holds is never abandoned: the campaign gives it
        back itself. Whether a campaign elsewhere lives only its expiry can tell.
        """
        if self.owned.state == HELD:
            return False
        is_long_over = self.at >= self.machine.expires + CLOCKS_APART
        return self.owned.state == LEFT_BEHIND or is_long_over

    @property
    def cost(self) -> tuple[float, str] | None:
        """Price × time since it was got, and the currency; None where no price is known."""
        price = self.machine.price
        if price is None or not self.owned.is_billed:
            return None
        seconds = max(0.0, (self.at - self.machine.acquired_at).total_seconds())
        return price.value * seconds / _HOUR_S, price.unit.partition("/")[0]

    def to_json(self) -> dict[str, Any]:
        """The holding as strict JSON values."""
        cost = self.cost
        return {
            "machine": self.machine.to_json(),
            "state": self.owned.state,
            "holder": self.owned.holder,
            "seen": self.owned.seen,
            "billed": self.owned.is_billed,
            "expired": self.is_expired,
            "abandoned": self.is_abandoned,
            "cost": None if cost is None else {"value": cost[0], "unit": cost[1]},
        }


def unreleased(entries: Iterable[Mapping[str, Any]]) -> dict[str, Machine]:
    """Machines by id that a ledger says were got and not given back; odd entries are none."""
    there: dict[str, Machine] = {}
    for entry in entries:
        event = entry.get("event")
        if event in {ACQUIRED, READY}:
            try:
                machine = machine_from_json(entry.get("machine"))
            except ValueError:
                continue
            there[machine.id] = machine
        elif event == RELEASED:
            there.pop(str(entry.get("id")), None)
    return there


def kept(entries: Iterable[Mapping[str, Any]], at: dt.datetime) -> frozenset[str]:
    """Ids of machines that a ledger says are kept for a look, and still are at that time."""
    return frozenset(
        str(each.get("id"))
        for each in entries
        if each.get("event") == KEPT and _is_before(at, each.get("until"))
    )


def _is_before(at: dt.datetime, until: object) -> bool:
    try:
        return at < dt.datetime.fromisoformat(str(until))
    except (ValueError, TypeError):  # no time, or none that can be compared
        return False


def released(entries: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Ids of machines that a ledger says were given back."""
    return frozenset(str(each.get("id")) for each in entries if each.get("event") == RELEASED)


def holdings(
    listed: Iterable[Owned],
    known: Mapping[str, Machine],
    unheard: Iterable[str],
    at: dt.datetime,
) -> tuple[Holding, ...]:
    """All that is ours, what costs money first, then by campaign and machine.

    ``known`` are machines that ledgers name; those of drivers in ``unheard``, which could not
    be asked, are taken for ours; others that no cloud lists have gone by themselves.
    """
    silent = frozenset(unheard)
    found = [Holding(owned=_priced(each, known), at=at) for each in listed]
    seen = {each.machine.id for each in found}
    found += [
        Holding(owned=_unconfirmed(machine), at=at)
        for machine in known.values()
        if machine.driver in silent and machine.id not in seen
    ]
    return tuple(sorted(found, key=_place))


def _priced(owned: Owned, known: Mapping[str, Machine]) -> Owned:
    told = known.get(owned.machine.id)
    if told is None:
        return owned
    return Owned(
        machine=told,
        state=owned.state,
        holder=owned.holder,
        is_billed=owned.is_billed,
        seen=owned.seen,
    )


def _unconfirmed(machine: Machine) -> Owned:
    return Owned(
        machine=machine,
        state=UNCONFIRMED,
        holder=f"campaign {machine.campaign!r}",
        is_billed=not machine.is_local,
        seen="its ledger says that it was not given back",
    )


def _place(holding: Holding) -> tuple[bool, str, str, str]:
    machine = holding.machine
    return not holding.owned.is_billed, machine.campaign, machine.run, machine.id
