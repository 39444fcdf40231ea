"""What a campaign asks of a cloud, and the values that pass between them.

A driver gives out machines and takes them back. It says so to the ledger (``record``) before
it acts and after it has, so that a machine is found again whatever happens in between. A
ledger that cannot be written acquires nothing, and never keeps a machine from its release.

| call | ledger before | ledger after |
|---|---|---|
| ``acquire`` | ``acquiring``: the order | ``acquired``: the machine; or ``not-acquired`` |
| ``ready`` | – | ``ready``: the machine |
| ``release`` | ``releasing``: the machine's id | ``released``, or ``not-released`` |
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import TypeAdapter

from catalog.quantity import Quantity
from catalog.schema import Campaign
from flows.errors import InfrastructureError

ACQUIRING: Final = "acquiring"
ACQUIRED: Final = "acquired"
NOT_ACQUIRED: Final = "not-acquired"
READY: Final = "ready"
RELEASING: Final = "releasing"
RELEASED: Final = "released"
NOT_RELEASED: Final = "not-released"

HELD: Final = "held"
LEFT_BEHIND: Final = "left behind"
HELD_ELSEWHERE: Final = "held elsewhere"

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


class Record(Protocol):
    """Appends one event to the ledger and returns when it is on disk."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Facts are strict JSON values."""


def _silent(_why: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a driver may know of where it is called from; nothing else is read by it.

    ``state`` is a folder of this user's that outlives a run, for key pairs and the like;
    ``now`` is the time in UTC. ``campaign`` holds what its file says under the driver's own
    key (``aws:``); ``known`` are machines that ledgers name, wherever they are: what is owned
    is looked for there too. ``waiting`` hears about once a second why a call waits; what it
    raises ends the wait, and what was got so far is given back.
    """

    environment: Mapping[str, str]
    state: Path
    now: Callable[[], dt.datetime]
    campaign: Campaign | None = None
    known: tuple[Machine, ...] = ()
    waiting: Callable[[str], None] = _silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One machine that a run wants: the ``host`` or ``offer`` of its candidates' file.

    ``number`` tells several machines of one kind in a run apart. ``expires`` (UTC) is when it
    must be gone, whatever becomes of us. ``price`` is what the campaign or the catalog
    states, None where nobody does; a driver that knows the market's says so in the machine.
    """

    host: str | None
    offer: str | None = None
    number: int = 1
    campaign: str
    run: str
    expires: dt.datetime
    disk_bytes: int | None = None
    price: Quantity | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def host_id(self) -> str:
        """The machine's name in files: ``local``, ``aws-p4de.24xlarge``, ``…-2``."""
        name = host_id_of(self.host or self.offer or "")
        return name if self.number == 1 else f"{name}-{self.number}"

    def to_json(self) -> dict[str, Any]:
        """The order as strict JSON values."""
        return {"host_id": self.host_id, **_plain(_ORDER, self)}


def host_id_of(name: str) -> str:
    """A campaign file's ``host`` or ``offer`` as files name the machine."""
    return _UNFIT.sub("-", name).strip("-.") or "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How a machine is entered over SSH.

    ``key`` is the private key's file, None where the agent or SSH's own files know it.
    ``host_keys`` are the machine's public keys as in a ``.pub`` file, known before its first
    start; without any, ``known_hosts`` must have them.
    """

    user: str
    port: int = 22
    key: str | None = None
    host_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that is ours for now.

    ``id`` is the driver's, and enough to release it. ``host_id`` is its name in files.
    ``address`` is where it is reached, None for this machine and for one that is not up yet.
    ``price`` per hour carries its basis and source; None is unknown, never free. ``noted`` is
    what the driver saw when it got it: zone, image, what it took over. ``login`` is how it is
    entered, None for this machine.
    """

    id: str
    driver: str
    host_id: str
    is_local: bool
    address: str | None
    price: Quantity | None
    campaign: str
    run: str
    acquired_at: dt.datetime
    expires: dt.datetime
    noted: Mapping[str, str] = field(default_factory=dict)
    login: Login | None = None

    def to_json(self) -> dict[str, Any]:
        """The machine as strict JSON values, as the ledger keeps it."""
        return _plain(_MACHINE, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A machine that the cloud says is ours, by its tags or its lock.

    ``state``: ``held`` by a campaign that lives, ``left behind`` by one that is dead, ``held
    elsewhere`` where only another machine could tell. ``is_billed``: it costs money as long
    as it is there. ``seen`` is what there is, in the cloud's words.
    """

    machine: Machine
    state: str
    holder: str
    is_billed: bool = True
    seen: str = ""


class PartlyListedError(InfrastructureError):
    """Some of a cloud could not be asked; ``owned`` is what the rest of it has of ours."""

    def __init__(self, where: str, seen: str, do: str, *, owned: Iterable[Owned]) -> None:
        super().__init__(where, seen, do)
        self.owned = tuple(owned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """What a driver can give out: a ``host`` or ``offer`` for a campaign file.

    ``price`` per hour is the driver's own knowledge, None where it has none.
    """

    name: str
    title: str
    price: Quantity | None = None


class Driver(Protocol):
    """One cloud. Every call has a time limit; errors are RunoffErrors."""

    name: str

    def offers(self) -> tuple[Offering, ...]:
        """What could be acquired; acts on nothing."""

    def acquire(self, order: Order, record: Record) -> Machine:
        """A machine as ordered; InfrastructureError with who or what stands in the way."""

    def ready(self, machine: Machine, record: Record) -> Machine:
        """The same machine when it can be used, with its address."""

    def release(self, machine: Machine, record: Record) -> None:
        """Give the machine back; again, and it does nothing.

        Raises
        ------
        StillBilled
            If it may still cost money.
        """

    def list_owned(self) -> tuple[Owned, ...]:
        """Every machine that is ours, of whatever run; acts on nothing.

        Raises
        ------
        PartlyListedError
            If some of them cannot be seen.
        """


def machine_from_json(document: object) -> Machine:
    """A machine as the ledger keeps it; ValueError where it is none.

    A time without a zone, which only another hand can have written, is taken for UTC.
    """
    found = _MACHINE.validate_python(document)
    return replace(found, acquired_at=_zoned(found.acquired_at), expires=_zoned(found.expires))


def _zoned(time: dt.datetime) -> dt.datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)


def _plain(adapter: TypeAdapter[Any], value: object) -> dict[str, Any]:
    plain: dict[str, Any] = adapter.dump_python(value, mode="json")
    return plain


_ORDER: Final = TypeAdapter(Order)
_MACHINE: Final = TypeAdapter(Machine)
