"""What was ordered against what was found: pure, and before any load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from catalog.capabilities import is_below
from catalog.schema.device import Device
from flows.machine.found import FoundDevice, FoundMachine
from flows.machine.names import form_of, is_another, model_of

Severity = Literal["void", "waiver", "note"]
_MEMORY_SHARE: Final = 0.03  # drivers of one card differ by what they hold back
_MIB: Final = 2**20
_ACCELERATED: Final = ("cuda", "rocm")
_SWITCHED: Final = 8  # so many devices with a link to each other need a switch between them


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What a candidate's machine must be. ``ranks`` are devices that work as one.

    ``minimum_driver`` and ``minimum_cuda`` are the runtime's; None: it states none.
    """

    device: Device
    count: int = 1
    ranks: int = 1
    minimum_driver: str | None = None
    minimum_cuda: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference, and what it does.

    ``void``: nothing measured here is the candidate's; ``waiver``: a person must accept it
    before a signoff; ``note``: it is only said.
    """

    severity: Severity
    what: str
    ordered: str
    found: str

    def __str__(self) -> str:
        """The finding as ``hosts/<id>/system.json`` keeps it."""
        return f"{self.what}: {self.found}; ordered: {self.ordered} ({self.severity})"


def differences(ordered: Ordered, found: FoundMachine) -> tuple[Finding, ...]:
    """All differences, the gravest first; none for a machine without accelerators."""
    if ordered.device.device_class not in _ACCELERATED:
        return ()
    if not found.devices:
        return (
            Finding(
                severity="waiver",
                what="device",
                ordered=ordered.device.title,
                found=f"it cannot be checked: {found.why_none}",
            ),
        )
    seen = dict.fromkeys((*_machine(ordered, found), *_devices(ordered, found)))
    rank = ("void", "waiver", "note").index
    return tuple(sorted(seen, key=lambda each: rank(each.severity)))


def _machine(ordered: Ordered, found: FoundMachine) -> Iterator[Finding]:
    there = len(found.devices)
    if there != ordered.count:
        yield Finding(
            severity="void" if there < ordered.count else "note",
            what="number of devices",
            ordered=str(ordered.count),
            found=str(there),
        )
    yield from _version("driver", ordered.minimum_driver, found.driver)
    yield from _version("CUDA", ordered.minimum_cuda, found.cuda)
    yield from _links(ordered, found)
    yield from _fabric(found)


def _version(what: str, needed: str | None, seen: str | None) -> Iterator[Finding]:
    if needed is None:
        return
    below = None if seen is None else is_below(seen, needed)
    if below is not False:
        yield Finding(
            severity="waiver" if below else "note",
            what=what,
            ordered=f"{needed} or newer",
            found=seen or "not told",
        )


def _links(ordered: Ordered, found: FoundMachine) -> Iterator[Finding]:
    if ordered.ranks < 2:
        return
    wanted = any(link.startswith("nvlink") for link in ordered.device.links)
    pairs = {
        link for (one, other), link in found.links.items() if max(one, other) < ordered.ranks
    }
    if not pairs:
        told = "not told"
        yield Finding(severity="note", what="links", ordered=_named(wanted), found=told)
        return
    bridged = {link.startswith("NV") for link in pairs}
    if wanted and False in bridged:
        yield _link_finding("waiver", wanted, pairs)
    elif not wanted and True in bridged:
        yield _link_finding("note", wanted, pairs)


def _link_finding(severity: Severity, wanted: bool, pairs: set[str]) -> Finding:
    return Finding(
        severity=severity, what="links", ordered=_named(wanted), found=", ".join(sorted(pairs))
    )


def _named(is_nvlink: bool) -> str:
    return "NVLink between all devices" if is_nvlink else "PCIe"


def _fabric(found: FoundMachine) -> Iterator[Finding]:
    """Where a switch joins the devices, no program of theirs starts before it is set up."""
    states = {each.fabric for each in found.devices if each.fabric is not None}
    bad = sorted(state for state in states if not state.startswith("Completed: Success"))
    all_linked = bool(found.links) and all(x.startswith("NV") for x in found.links.values())
    needs_manager = not states and all_linked and len(found.devices) >= _SWITCHED
    if needs_manager and found.fabric_manager != "active":
        bad = [f"Fabric Manager {found.fabric_manager or 'not told'}"]
    if bad:
        yield Finding(severity="waiver", what="fabric", ordered="set up", found=", ".join(bad))


def _devices(ordered: Ordered, found: FoundMachine) -> Iterator[Finding]:
    for device in found.devices:
        yield from _identity(ordered.device, device)
        yield from _memory(ordered.device, device)
        yield from _state(device)


def _identity(ordered: Device, found: FoundDevice) -> Iterator[Finding]:
    wanted, seen = model_of(ordered.title), model_of(found.name)
    form, seen_form = form_of(ordered.title), form_of(found.name)
    severity: Severity | None = None
    if is_another(wanted, seen) or (form and seen_form and form != seen_form):
        severity = "void"
    elif seen != wanted or (form and seen_form is None):
        severity = "note"
    if severity is not None:
        yield Finding(severity=severity, what="device", ordered=ordered.title, found=found.name)


def _memory(ordered: Device, found: FoundDevice) -> Iterator[Finding]:
    if found.mig:
        slices = ", ".join(f"{size:,} MiB" for size in found.slices) or "none made"
        yield Finding(
            severity="void",
            what="device memory",
            ordered="whole devices",
            found=f"shared out in slices: {slices}",
        )
        return
    if ordered.memory is None or found.memory_mib is None:
        return
    wanted_mib = ordered.memory.value / _MIB
    if abs(found.memory_mib / wanted_mib - 1) > _MEMORY_SHARE:
        yield Finding(
            severity="void",
            what="device memory",
            ordered=f"{wanted_mib:,.0f} MiB",
            found=f"{found.memory_mib:,} MiB",
        )


def _state(found: FoundDevice) -> Iterator[Finding]:
    where = f"GPU {found.index}"
    if found.processes:
        yield Finding(
            severity="waiver",
            what=f"{where}, processes",
            ordered="none but ours",
            found=", ".join(map(str, found.processes)),
        )
    if found.is_remapping_pending:
        yield Finding(
            severity="waiver",
            what=f"{where}, memory rows",
            ordered="all in place",
            found="a remapping waits for a reset",
        )
    if found.ecc != found.ecc_pending:
        yield Finding(
            severity="note",
            what=f"{where}, ECC",
            ordered="the same after a reset",
            found="it will change at the next reset",
        )
    width, most = found.pcie_width, found.pcie_width_most
    if width is not None and most is not None and width < most:
        yield Finding(
            severity="note",
            what=f"{where}, PCIe",
            ordered=f"{most} lanes",
            found=f"{width} lanes",
        )
