"""Looking at every cloud and every ledger for what is ours, and removing it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from flows.clouds import Cloud, all_clouds
from flows.clouds.protocol import (
    Driver,
    Machine,
    Owned,
    PartlyListedError,
    Record,
    Site,
)
from flows.errors import RunoffError, StillBilled
from flows.owned import Holding, holdings, kept, released, unreleased
from flows.store.ledger import Ledger
from flows.store.places import ledgers_here
from reports.errors import ReportsError
from reports.run import layout
from reports.run.ledger_file import read_ledger

LEDGER: Final = "machines.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was found, with what could not be asked or read and why.

    ``kept`` are ids of machines that somebody still wants to look at.
    """

    holdings: tuple[Holding, ...]
    problems: tuple[str, ...]
    drivers: Mapping[str, Driver]
    kept: frozenset[str] = frozenset()

    @property
    def billed(self) -> tuple[Holding, ...]:
        """What costs money now."""
        return tuple(each for each in self.holdings if each.owned.is_billed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What was removed, what would not go and why, and what could not be looked at."""

    removed: tuple[Holding, ...]
    failed: tuple[RunoffError, ...]
    problems: tuple[str, ...] = ()


def look(
    site: Site, stores: Iterable[Path], clouds: Callable[[], Iterable[Cloud]] | None = None
) -> Look:
    """All that is ours: on each configured cloud, and by the ledgers of runs.

    Looked at are the runs in ``stores`` and those on this machine that are copied to a bucket.
    """
    known, looked_at, problems = _known(site, stores)
    site = replace(site, known=tuple(known.values()))
    drivers: dict[str, Driver] = {}
    listed: list[Owned] = []
    unheard: list[str] = []
    for cloud in (clouds or all_clouds)():
        if not cloud.configured(site):
            continue
        try:
            driver = drivers[cloud.name] = cloud.connect(site)
            listed += driver.list_owned()
        except RunoffError as error:
            listed += error.owned if isinstance(error, PartlyListedError) else ()
            unheard.append(cloud.name)
            problems.append(f"{cloud.name} could not be asked: {error}")
    return Look(
        holdings=holdings(listed, known, unheard, site.now()),
        problems=tuple(problems),
        drivers=drivers,
        kept=looked_at,
    )


def remove(found: Look, wanted: Iterable[Holding], record: Record) -> Swept:
    """Give back what is wanted; each is tried, whatever becomes of the others."""
    gone: list[Holding] = []
    failed: list[RunoffError] = []
    for holding in wanted:
        driver = found.drivers.get(holding.machine.driver)
        if driver is None:
            continue
        try:
            driver.release(holding.machine, record)
        except RunoffError as error:
            failed.append(error)
        except Exception as error:  # noqa: BLE001 - the next must be tried all the same
            seen = f"it may still be there: {type(error).__name__}: {error}"
            failed.append(StillBilled(holding.machine.id, seen, "Look at runoff machines"))
        else:
            gone.append(holding)
    return Swept(removed=tuple(gone), failed=tuple(failed))


def sweep(site: Site, stores: Iterable[Path], record: Record) -> Swept:
    """Remove all that is past its expiry or whose campaign is dead; for a schedule.

    What is kept for a look stays for its time: nobody is there to be asked.
    """
    found = look(site, stores)
    over = [each for each in found.holdings if each.is_abandoned]
    done = remove(found, (e for e in over if e.machine.id not in found.kept), record)
    return replace(done, problems=found.problems)


def recorder(state: Path, now: Callable[[], dt.datetime]) -> tuple[Ledger, Record]:
    """The ledger of what is removed outside of a run, and its way in."""
    state.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(state / LEDGER)

    def record(event: str, **facts: Any) -> None:
        ledger.append(now(), event, facts)

    return ledger, record


def _known(
    site: Site, stores: Iterable[Path]
) -> tuple[dict[str, Machine], frozenset[str], list[str]]:
    """Machines that were got and not given back, by the ledgers of all runs; those kept."""
    known: dict[str, Machine] = {}
    looked_at: frozenset[str] = frozenset()
    problems: list[str] = []
    stated = (path for store in stores for path in store.glob(f"*/*/{layout.LEDGER}"))
    for path in sorted({*stated, *ledgers_here(site.state)}):
        try:
            entries = tuple(read_ledger(path))
            known |= unreleased(entries)
            looked_at |= kept(entries, site.now())
        except (ReportsError, OSError) as error:
            problems.append(f"a ledger could not be read: {error}")
    try:
        gone = released(read_ledger(site.state / LEDGER))
    except (ReportsError, OSError) as error:
        problems.append(f"a ledger could not be read: {error}")
        gone = frozenset()
    there = {name: each for name, each in known.items() if name not in gone}
    return there, looked_at, problems
