"""A device's figures against each other: ratios, clocks, classes, assumptions."""

from __future__ import annotations

from collections.abc import Container, Iterator

from catalog.quantity import Basis, Quantity
from catalog.sanity.finding import Finding, Severity, Steps
from catalog.schema import Device

RATIO_TOLERANCE = 0.03
CLASS_TOLERANCE = 0.08
# FLOP per byte. Dense peaks of the chips we know stay below 500; twice that is sparsity.
HIGHEST_RIDGE_POINT = 600
# MT/s that memory channels of 64 bits run at, DDR4 to MRDIMM
STANDARD_RATES = (2400, 2666, 2933, 3200, 4000, 4400, 4800, 5200, 5600, 6000, 6400, 8000, 8800)
_ACHIEVED = (Basis.ASSUMPTION, Basis.PREDICTION, Basis.MEASUREMENT)


def device_findings(device: Device, links: Container[str]) -> Iterator[Finding]:
    """What does not fit together in one device's entry."""
    yield from _formats(device)
    yield from _dense(device)
    yield from _clocks(device)
    yield from _memory_class(device)
    yield from _channels(device)
    yield from _assumptions(device)
    for index, name in enumerate(device.links):
        if name not in links:
            yield _finding(
                device, ("links", index), f"link {name!r} is not in the catalog", "Add its file"
            )


def _formats(device: Device) -> Iterator[Finding]:
    """FP8 is as fast as BF16 or twice as fast; FP16 is as fast as BF16."""
    base = device.compute.get("bf16")
    for name, ratios in (("fp8", (1, 2)), ("fp16", (1,))):
        other = device.compute.get(name)  # type: ignore[call-overload]
        if base is None or other is None or base.value == 0:
            continue
        ratio = other.value / base.value
        if not any(_near(ratio, expected, RATIO_TOLERANCE) for expected in ratios):
            wanted = " or ".join(str(expected) for expected in ratios)
            yield _finding(
                device,
                ("compute", name),
                f"{name} is {ratio:.2f} times bf16, which is not {wanted} within 3%",
                "Check that both are dense, and of the same variant",
            )


def _dense(device: Device) -> Iterator[Finding]:
    """Peak compute is units × dense FLOP per cycle × rated clock; sparsity would double it."""
    for name, per_cycle in device.flop_per_cycle.items():
        peak = device.compute.get(name)
        if peak is None or device.rated_clock is None:
            continue
        dense = per_cycle * device.rated_clock.value
        if not _near(peak.value, dense, RATIO_TOLERANCE):
            yield _finding(
                device,
                ("compute", name),
                f"{peak} is {peak.value / dense:.2f} times {per_cycle} FLOP per cycle at "
                f"{device.rated_clock}",
                "Enter the dense figure (sparsity doubles it), or correct the clock",
            )
    base, bandwidth = device.compute.get("bf16"), device.memory_bandwidth
    if "bf16" in device.flop_per_cycle or base is None or not bandwidth or not bandwidth.value:
        return
    ridge = base.value / bandwidth.value
    if ridge > HIGHEST_RIDGE_POINT:
        yield _finding(
            device,
            ("compute", "bf16"),
            f"{base} at {bandwidth} is {ridge:.0f} FLOP per byte, more than any dense chip",
            "Enter the dense figure; state flop_per_cycle and rated_clock to prove it",
            "warning",
        )


def _clocks(device: Device) -> Iterator[Finding]:
    rated, maximum = device.rated_clock, device.maximum_clock
    if rated and maximum and maximum.value < rated.value:
        yield _finding(
            device,
            ("maximum_clock",),
            f"{maximum} is below the rated {rated}",
            "The maximum is what the device may reach; swap them if they are swapped",
        )


def _memory_class(device: Device) -> Iterator[Finding]:
    """What a driver reports lies within 8% of what the class is called."""
    marketed, reported = device.marketed_memory, device.memory
    if reported and not _near(reported.value, marketed.value, CLASS_TOLERANCE):
        share = reported.value / marketed.value - 1 if marketed.value else float("inf")
        yield _finding(
            device,
            ("memory",),
            f"{reported} is {share:+.1%} from the marketed {marketed}",
            "Check GB against GiB, and that both are of the same variant",
        )


def _channels(device: Device) -> Iterator[Finding]:
    """Bandwidth of plug-in memory is channels × 8 bytes × a standard transfer rate."""
    bandwidth = device.memory_bandwidth
    if bandwidth is None or device.memory_channels is None:
        return
    rate = bandwidth.value / device.memory_channels / 8 / 1e6
    if not any(_near(rate, standard, 0.01) for standard in STANDARD_RATES):
        yield _finding(
            device,
            ("memory_bandwidth",),
            f"{bandwidth} over {device.memory_channels} channels is {rate:.0f} MT/s, "
            "which no module runs at",
            "Check the channels of all sockets together and their rate",
        )


def _assumptions(device: Device) -> Iterator[Finding]:
    achieved = device.achieved
    if achieved.bandwidth is not None:
        yield from _assumption(
            device,
            ("achieved", "bandwidth"),
            achieved.bandwidth,
            device.memory_bandwidth,
            is_known="bandwidth" in achieved.above_peak,
        )
    for name, rate in achieved.compute.items():
        yield from _assumption(
            device,
            ("achieved", "compute", name),
            rate,
            device.compute.get(name),
            is_known=name in achieved.above_peak,
        )


def _assumption(
    device: Device, steps: Steps, rate: Quantity, peak: Quantity | None, *, is_known: bool
) -> Iterator[Finding]:
    """An achieved rate is no specification and does not exceed its peak, unless marked."""
    if rate.basis not in _ACHIEVED:
        yield _finding(
            device,
            steps,
            f"an achieved rate has the basis {rate.basis.value}",
            "Write basis: assumption (or measurement, with its source)",
        )
    exceeds = peak is not None and rate.value > peak.value
    if exceeds:
        yield _finding(
            device,
            steps,
            f"{rate} is above the peak of {peak}"
            + (f"; it is kept as {rate.source} states it" if is_known else ""),
            "A bound does not use it" if is_known else "Lower it, or correct the peak",
            "warning" if is_known else "error",
        )
    elif is_known:
        yield _finding(
            device,
            ("achieved", "above_peak"),
            f"{steps[-1]} is listed but {rate} is not above {peak}",
            "Remove it from above_peak",
        )


def _near(value: float, expected: float, tolerance: float) -> bool:
    return abs(value - expected) <= tolerance * expected


def _finding(
    device: Device, steps: Steps, seen: str, do: str, severity: Severity = "error"
) -> Finding:
    return Finding(
        severity=severity, kind="device", name=device.name, steps=steps, seen=seen, do=do
    )
