"""A machine that is ours: described, held against its order, its settings made and put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from flows.clouds.protocol import Machine
from flows.control.home import control_file
from flows.describing import facts_of, settings_of
from flows.errors import InfrastructureError, RunoffError
from flows.foreign_load import objections
from flows.machine.look import found_machine
from flows.machine.ordered import Finding, differences
from flows.placing import candidates_of, placement
from flows.underway import Held, Underway
from reports.run.host_file import HostFile
from reports.run.layout import LEDGER
from reports.run.ledger_file import read_ledger
from reports.run.read import file_text, read_file

_VOID: Final = "void"
_REBALANCE: Final = "rebalance"
_NOTICES: Final = ("interruption", _REBALANCE)


def describe(work: Underway, host: str, machine: Machine) -> HostFile:
    """The machine as it says that it is, written into the run directory.

    A candidate of which it is not the machine is given up.

    Raises
    ------
    InfrastructureError
        If others use it and the campaign is to decide, or if it is no candidate's.
    """
    held = work.held[host]
    if held.host is None or held.facts is None:
        raise InfrastructureError(f"host {host!r}", "it has not been entered", "")
    hands = held.host.hands()
    held.found = found_machine(hands)
    found = {name: _differences(work, name, held) for name in work.candidates(host)}
    file = HostFile(
        host=host,
        driver=machine.driver,
        seen_at=held.facts.captured_at.isoformat(timespec="seconds"),
        facts={**facts_of(held.facts, held.found, hands), **_noted(machine)},
        order=_order(work, host),
        differences=tuple(dict.fromkeys(str(each) for own in found.values() for each in own)),
        threats=(
            *_placements(work, host),
            *_foreign(work, host, held),
            *_notices_before(work, host),
        ),
    )
    work.store.write(f"hosts/{host}/system.json", file_text(file))
    _refuse(work, host, found)
    return file


def hear(work: Underway, host: str, kind: str, told: Mapping[str, Any]) -> None:
    """Take what a machine's cloud says of its end: told at once, and kept for the report."""
    work.record(kind, host=host, told=dict(told))
    work.progress.said(f"note: {host}: {notice_words(kind, told)}")
    path = work.store.folder.path / f"hosts/{host}/system.json"
    if path.exists():
        file = read_file(path, HostFile)
        threats = (*file.threats, notice_words(kind, told))
        work.store.write(
            f"hosts/{host}/system.json",
            file_text(file.model_copy(update={"threats": threats})),
        )


def notice_words(kind: str, told: Mapping[str, Any]) -> str:
    """A notice in a sentence."""
    at = told.get("time") or told.get("noticeTime")
    when = f" at {at}" if at else ""
    if kind == _REBALANCE:
        return f"its cloud recommended to leave it{when}: it was likelier to be taken back"
    return (
        f"its cloud took the spot machine back{when}: what ran was broken off, and what was "
        "measured later was on another one"
    )


def control(work: Underway, host: str, clocks_mhz: Mapping[int, int] | None = None) -> None:
    """Make the machine's settings for the time of the run; what is not made is a threat.

    ``clocks_mhz`` are locked by device; others stay free.
    """
    held = work.held[host]
    if held.host is None or work.plan.rehearsal:
        return
    order = settings_of(held.found, clocks_mhz or {})
    try:
        held.settings = held.host.hold(order, work.around.state / "control")
    except InfrastructureError as error:
        record: Mapping[str, Any] = {
            "threats": [f"settings are as they were found: {error.seen}"]
        }
    else:
        record = held.settings.record
    _keep(work, host, record)


def put_back(work: Underway, host: str) -> None:
    """Put the machine's settings back, and write down how each was seen under load."""
    held = work.held[host]
    settings, held.settings = held.settings, None
    if settings is None:
        return
    try:
        settings.end()
    except RunoffError as error:
        work.progress.said(f"note: {host}: its settings may not be as they were: {error}")
    _keep(work, host, settings.record)


def _keep(work: Underway, host: str, record: Mapping[str, Any]) -> None:
    held = work.held[host]
    held.control = control_file(host, record, held.summaries)
    work.store.write(f"hosts/{host}/control.json", file_text(held.control))


def _differences(work: Underway, candidate: str, held: Held) -> tuple[Finding, ...]:
    ordered = work.asked.ordered.get(candidate)
    return () if ordered is None else differences(ordered, held.found)


def _refuse(work: Underway, host: str, found: Mapping[str, tuple[Finding, ...]]) -> None:
    """Measure nothing of a candidate on a machine that is not its own."""
    voids = {
        name: [str(each) for each in own if each.severity == _VOID]
        for name, own in found.items()
    }
    wrong = {name: "; ".join(own) for name, own in voids.items() if own}
    if wrong and len(wrong) == len(found):
        seen = "; ".join(dict.fromkeys(wrong.values()))
        raise InfrastructureError(
            f"host {host!r}",
            f"it is not the machine that was ordered ({seen})",
            "Order another, or state what it is",
        )
    for name, why in wrong.items():
        work.give_up(name, f"not the machine that was ordered: {why}")
        work.progress.state(name, f"not the machine that was ordered: {why}")


def _placements(work: Underway, host: str) -> Iterator[str]:
    for name in work.candidates(host):
        threat = placement(work, name).threat
        if threat is not None:
            yield f"{name}: {threat}"


def _foreign(work: Underway, host: str, held: Held) -> tuple[str, ...]:
    """Who else uses it; this machine was looked at before the start."""
    if held.host is None or held.host.is_here:
        return ()
    seen = objections(held.host.look())
    if seen and not work.plan.exploratory:
        raise InfrastructureError(
            f"host {host!r}", "; ".join(seen), "Stop them, or wait until they are done"
        )
    return tuple(seen)


def _notices_before(work: Underway, host: str) -> Iterator[str]:
    """What clouds told of machines of this name in earlier parts of the run."""
    for entry in read_ledger(work.store.folder.file(LEDGER)):
        if entry.get("event") in _NOTICES and entry.get("host") == host:
            yield notice_words(str(entry["event"]), entry.get("told") or {})


def _order(work: Underway, host: str) -> dict[str, Any]:
    """What was asked for, by candidate."""
    told: dict[str, Any] = {}
    for each in candidates_of(work, host):
        told[each.name] = {
            "offer": each.offer,
            "device": each.device,
            "device_count": each.device_count,
            "tensor_parallel": each.tensor_parallel,
        }
    return told


def _noted(machine: Machine) -> dict[str, Any]:
    """What its driver saw when it got it, the price at that moment with it."""
    told: dict[str, Any] = {f"machine.{name}": text for name, text in machine.noted.items()}
    if machine.price is not None and not machine.is_local:
        price = machine.price
        told["machine.price"] = f"{price.value:g} {price.unit} ({price.basis}, {price.source})"
    return told
