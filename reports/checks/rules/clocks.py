"""Devices ran at the clocks that they were asked to, and were not throttled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check
from reports.telemetry.voids import judged

LEAST_AT_TARGET: Final = 0.95
_STEADY_CPU: Final = 0.05  # of the median, from the slowest to the fastest sample


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell that decides, whether clocks and throttling are on record."""
    for cell in evidence.cells():
        if cell.decides:
            yield cell.check(
                "clocks",
                "Device clocks stay as asked, and nothing throttles them",
                "telemetry of the whole window: 95% of samples within 15 MHz of the locked "
                "clock, no hardware reason to throttle",
                _seen(cell),
            )


def _seen(cell: Cell) -> Seen:
    if cell.summary.basis == "simulation":
        return "not applicable", "a simulation has no clocks"
    if cell.facts.kind == "endpoint":
        return "not applicable", "an endpoint shows no machine"
    told = [each.measured.file.telemetry for each in cell.replications]
    known = [each for each in told if each is not None]
    if not known or len(known) < len(told):
        return "unknown", "no telemetry of the machine is on record"
    void = [words for each in known for words in judged(each, None).voids]
    if void:
        return "fail", f"unstable: {'; '.join(dict.fromkeys(void))}"
    devices = [device for each in known for device in each["devices"].values()]
    if not devices:
        return _processors([each["host"]["cpu_mhz"] for each in known])
    verdict, words = _devices(devices)
    flags = [flag for each in known for flag in judged(each, None).flags]
    return verdict, "; ".join([words, *dict.fromkeys(flags)])


def _devices(devices: list[Mapping[str, Any]]) -> Seen:
    spans = [device["graphics_mhz"] for device in devices]
    if None in spans or not all(device["is_whole"] for device in devices):
        return "unknown", "clocks were not sampled all through the window"
    low, high = min(span["low"] for span in spans), max(span["high"] for span in spans)
    seen = f"{low:.0f} to {high:.0f} MHz"
    shares = [device["share_at_target"] for device in devices]
    if None in shares:
        return "unknown", f"clocks were not locked; seen {seen}"
    target = devices[0]["target_mhz"]
    words = f"{min(shares):.0%} of samples at {target:.0f} MHz, seen {seen}"
    if any(device["reasons"] is None for device in devices):
        return "unknown", f"{words}; the driver does not tell what throttles"
    return ("pass" if min(shares) >= LEAST_AT_TARGET else "fail"), words


def _processors(spans: list[Mapping[str, float] | None]) -> Seen:
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return "unknown", "this host does not tell the clocks of its processors"
    low, high = min(span["low"] for span in known), max(span["high"] for span in known)
    seen = f"processors at {low:.0f} to {high:.0f} MHz"
    middle = sum(span["median"] for span in known) / len(known)
    return ("pass" if high - low <= _STEADY_CPU * middle else "unknown"), seen
