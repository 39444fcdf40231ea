"""What a cell is void for, and what is only said of it: pure rules over its own account.

Void is what was not the candidate's: hardware that protected itself, a machine that swapped or
served others. Such a cell is measured again, a few times at most; what is void each time is
kept as it is and called unstable, since leaving out all that is slow would flatter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

VOIDING: Final = {
    0x8: "hardware slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
FLAGGING: Final = {0x4: "software power cap", 0x20: "software thermal slowdown"}
MOST_VOIDS: Final = 2  # so a replication is measured three times at most
MOST_STEAL: Final = 0.01
MOST_FAULTS_PER_S: Final = 1.0  # a fault takes a fraction of a millisecond to some milliseconds
MOST_FOREIGN: Final = 0.02
LEAST_FOREIGN_CORES: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Why a replication is void, and what is flagged of it; both may be empty."""

    voids: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def judged(
    telemetry: Mapping[str, Any] | None,
    foreign: Mapping[str, Any] | None,
    *,
    exploratory: bool = False,
) -> Judgement:
    """What a replication's summary of samples and its host's load say of it.

    In an exploratory run a void is told and voids nothing.
    """
    voids = (*_hardware(telemetry), *host_voids(telemetry, foreign))
    flags = tuple(_flags(telemetry))
    if exploratory:
        return Judgement(flags=(*voids, *flags))
    return Judgement(voids=voids, flags=flags)


def is_measured_again(voids_before: int) -> bool:
    """Whether a void replication is measured again; else it is kept, and unstable."""
    return voids_before < MOST_VOIDS


def host_voids(
    telemetry: Mapping[str, Any] | None, foreign: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """What disturbed the host: swap, stolen time, waits for the disk, others."""
    return tuple(_host(telemetry, foreign))


def reasons(mask: int, named: Mapping[int, str]) -> tuple[str, ...]:
    """The names of the bits that are set."""
    return tuple(words for bit, words in named.items() if mask & bit)


def _devices(telemetry: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from ((telemetry or {}).get("devices") or {}).items()


def _hardware(telemetry: Mapping[str, Any] | None) -> Iterator[str]:
    for name, device in _devices(telemetry):
        for words in reasons(device.get("reasons") or 0, VOIDING):
            yield f"GPU {name}: {words}"
        if device.get("ecc_uncorrected"):
            yield f"GPU {name}: {device['ecc_uncorrected']:.0f} uncorrected memory errors"


def _flags(telemetry: Mapping[str, Any] | None) -> Iterator[str]:
    for name, device in _devices(telemetry):
        shares = device.get("reasons_share") or {}
        for bit, words in FLAGGING.items():
            if (device.get("reasons") or 0) & bit:
                yield f"GPU {name}: {words} in {shares.get(f'{bit:#x}', 0):.0%} of samples"


def _host(
    telemetry: Mapping[str, Any] | None, foreign: Mapping[str, Any] | None
) -> Iterator[str]:
    """Both tell of the host: the samples of the window alone, the load of the whole cell."""
    host, load = (telemetry or {}).get("host") or {}, foreign or {}
    swapped = host.get("swapped_in_pages")
    if swapped or (swapped is None and load.get("swapped_in_bytes")):
        yield "the machine read pages back from swap"
    steal = host.get("steal_share")
    steal = load.get("steal_share") if steal is None else steal
    if steal is not None and steal > MOST_STEAL:
        yield f"the hypervisor took {steal:.1%} of the processors' time"
    faults, seconds = load.get("major_faults"), load.get("seconds")
    if faults and seconds and faults / seconds > MOST_FAULTS_PER_S:
        yield f"its processes waited for the disk {faults / seconds:.1f} times a second"
    share, cpus = load.get("foreign_share") or 0.0, load.get("cpus") or 0
    if share > MOST_FOREIGN and share * cpus > LEAST_FOREIGN_CORES:
        yield f"others used {share:.1%} of {cpus:g} CPUs"
