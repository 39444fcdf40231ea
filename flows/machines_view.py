"""What we own, as a table and in words."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from catalog.quantity import format_value
from flows.owned import Holding
from reports.tables import Cell, Column, Table

_COLUMNS = ("machine", "campaign, run", "state", "since", "expires", "price", "cost so far")


def machines_table(found: Sequence[Holding]) -> Table:
    """One row for each: what, whose, since when, until when, for how much."""
    return Table(
        title="Machines that are ours",
        columns=tuple(
            Column(title=title, right=title in {"price", "cost so far"}) for title in _COLUMNS
        ),
        rows=tuple(_row(each) for each in found),
    )


def holders(found: Iterable[Holding]) -> Iterator[str]:
    """Who holds each, in whole sentences: too long for a column."""
    for each in found:
        if each.owned.holder:
            yield f"{_name(each)}: {each.owned.holder}"


def total(found: Iterable[Holding]) -> str:
    """What all has cost so far, each currency apart; what has no known price is said."""
    sums: defaultdict[str, float] = defaultdict(float)
    unknown = 0
    for each in found:
        cost = each.cost
        if cost is not None:
            sums[cost[1]] += cost[0]
        elif each.owned.is_billed:
            unknown += 1
    told = [format_value(value, unit) for unit, value in sorted(sums.items())]
    told += [f"{unknown} at an unknown price"] if unknown else []
    return " and ".join(told)


def _row(holding: Holding) -> tuple[Cell, ...]:
    machine, owned = holding.machine, holding.owned
    cost = holding.cost
    return (
        Cell(text=_name(holding), detail=owned.seen),
        Cell(text=f"{machine.campaign} {machine.run}"),
        Cell(
            text=owned.state,
            detail="" if owned.is_billed else "costs nothing",
            meaning="warn" if owned.is_billed or holding.is_abandoned else "",
        ),
        Cell(text=_minute(machine.acquired_at)),
        Cell(
            text=_minute(machine.expires),
            detail="over" if holding.is_expired else "",
            meaning="fail" if holding.is_expired else "",
        ),
        Cell(text=str(machine.price) if machine.price is not None else "unknown"),
        Cell(text=format_value(*cost) if cost is not None else "–"),
    )


def _name(holding: Holding) -> str:
    machine = holding.machine
    return machine.id if holding.owned.is_billed else machine.host_id


def _minute(when: dt.datetime) -> str:
    return f"{when.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
