"""Clocks of accelerators: locked where they hold under load, and freed for the winner's cost.

A clock that a device does not sustain is accepted and not held. So each candidate is loaded
once at free clocks, which proves nothing; the lowest of all samples is locked. Nobody serves
with locked clocks: the winner's decision cell is repeated at free ones, and decides its cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from flows.closing import decision_of
from flows.measure import measure_into
from flows.serving import Serving
from flows.setting_up import control, put_back
from flows.underway import LOOK_LAUNCH, Underway, utc_now
from reports.run.layout import LEDGER
from reports.run.ledger_file import read_ledger
from reports.run.plan_file import LoadPoint, Visit
from reports.run.read import read_run
from reports.telemetry.production import to_repeat
from reports.telemetry.summary import sustained_clocks

_FOLDER: Final = "clocks"
_LOCKED: Final = "clocks-locked"
_PERMITTED: Final = ("applied", "accepted")


def can_be_locked(work: Underway, host: str) -> bool:
    """Whether the machine has devices whose settings we may make, and cells to come."""
    held = work.held.get(host)
    if held is None or held.control is None or not held.found.devices:
        return False
    if not any(work.missing(visit) for visit in work.visits(host)):
        return False
    own = [each for each in held.control.settings if each.name == "persistence"]
    return all(each.status in _PERMITTED for each in own)


def look_visit(work: Underway, candidate: str) -> Visit:
    """The launch in which a candidate's clocks are looked at."""
    host = work.facts(candidate).host
    return Visit(host=host, replication=LOOK_LAUNCH, candidate=candidate, load_points=())


def look(work: Underway, serving: Serving, candidate: str) -> Mapping[int, int]:
    """The clock in MHz that each device held under the candidate's decision load."""
    visit = look_visit(work, candidate).model_copy(update={"replication": 0})
    point = decision_point(work) or work.plan.matrix.load_points[0]
    work.progress.state(candidate, "its clocks under load are looked at")
    work.afford(f"a look at the clocks of {candidate}", work.paper_s(candidate, point))
    folder = work.store.folder.path / _FOLDER / candidate
    measured = measure_into(work, serving, visit, point, folder)
    work.record_spent()
    return {} if measured.telemetry is None else sustained_clocks(measured.telemetry)


def lock(work: Underway, host: str, seen: Iterable[Mapping[int, int]]) -> None:
    """Lock each device at the lowest clock that it held under any candidate."""
    lowest: dict[int, int] = {}
    for clocks in seen:
        for device, mhz in clocks.items():
            lowest[device] = min(mhz, lowest.get(device, mhz))
    if lowest:
        work.record(_LOCKED, host=host, mhz={str(each): mhz for each, mhz in lowest.items()})
        put_back(work, host)
        control(work, host, lowest)


def locked_before(work: Underway, host: str) -> Mapping[int, int]:
    """The clocks that an earlier part of the run has locked: cells of one run are alike."""
    told = [
        entry["mhz"]
        for entry in read_ledger(work.store.folder.file(LEDGER))
        if entry.get("event") == _LOCKED and entry.get("host") == host
    ]
    return {int(device): int(mhz) for device, mhz in told[-1].items()} if told else {}


def repeats(work: Underway) -> tuple[Visit, ...]:
    """Launches in which the winner's decision cell is repeated at free clocks; often none.

    Its machine's clocks are free from here on.
    """
    from reports.conclude import conclude  # noqa: PLC0415 - statistics take a second to import

    point = decision_point(work)
    if (
        work.interruption.is_asked
        or point is None
        or not any(has_locked(work, host) for host in work.held)
    ):
        return ()
    conclude(work.store.folder, now=utc_now())
    winner = decision_of(work).chosen
    if winner is None or work.facts(winner).host not in work.held:
        return ()
    cells = [each.file for each in read_run(work.store.folder.path).cells]
    found = to_repeat(winner, point, cells)
    if found is None:
        return ()
    host = work.facts(winner).host
    put_back(work, host)
    control(work, host)
    work.progress.more_cells(len(found.replications))
    return tuple(
        Visit(
            host=host,
            replication=replication,
            candidate=winner,
            load_points=(found.point.name,),
        )
        for replication in found.replications
    )


def has_locked(work: Underway, host: str) -> bool:
    """Whether the run has locked clocks of the machine, now or in an earlier part of it."""
    return bool(locked_before(work, host))


def decision_point(work: Underway) -> LoadPoint | None:
    """The contract's own load; None where the contract has none of its own."""
    name = work.plan.matrix.decision_point
    return None if name is None else work.plan.load_point(name)
