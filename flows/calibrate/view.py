"""A calibration as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.calibration.file import CalibrationFile
from catalog.calibration.rates import rates_of
from catalog.entries import Catalog
from flows.console import Console
from reports.calibration_tables import all_reduce_table, figures_table


def show_calibration(console: Console, file: CalibrationFile, catalog: Catalog) -> None:
    """Figures, fits, conditions, what was not measured, and contradictions first."""
    for line in contradictions(file, catalog):
        console.heading("ERROR: a measurement exceeds its specification")
        console.paragraphs((line,))
    console.table(figures_table(file))
    fits = all_reduce_table(file.all_reduces)
    if fits is not None:
        console.table(fits)
    console.heading("Conditions")
    console.paragraphs(conditions(file))
    if file.unavailable:
        console.heading("Not measured")
        console.paragraphs(f"{each.what}: {each.why}" for each in file.unavailable)


def conditions(file: CalibrationFile) -> Iterator[str]:
    """Clocks, heat and load as they were; what disturbed it."""
    before, after = file.conditions.get("before", {}), file.conditions.get("after", {})
    for name, words in (
        ("core_mhz", "a core's clock, MHz"),
        ("hottest_celsius", "hottest sensor, °C"),
        ("load_1min", "load average of a minute"),
    ):
        if name in before and name in after:
            yield f"{words}: {before[name]:,.4g} before, {after[name]:,.4g} after"
    governors = file.conditions.get("governors") or ()
    yield f"governor: {', '.join(governors) or 'not told'}; {file.seconds:.1f} s in all"
    for group, times in file.conditions.get("attempts", {}).items():
        if times > 1:
            yield f"{group}: measured {times} times, since others used the host before"
    if file.disturbances:
        yield "EXPLORATORY, since it was disturbed: " + "; ".join(file.disturbances)


def contradictions(file: CalibrationFile, catalog: Catalog) -> Iterator[str]:
    """Measured rates above the peaks of the catalog's entry of the same product."""
    for device in file.devices:
        entry = catalog.devices.get(device.catalog_device or "")
        if entry is None:
            continue
        rates = rates_of(file, device)
        pairs = [("bandwidth", rates.bandwidth, entry.memory_bandwidth)]
        pairs += [
            (f"{name} compute", rate, entry.compute.get(name))
            for name, rate in rates.compute.items()
        ]
        for name, measured, peak in pairs:
            if measured is not None and peak is not None and measured.value > peak.value:
                yield (
                    f"{device.title}: {name} of {measured} was measured, and the catalog's "
                    f"{entry.name} has a peak of {peak}: its entry is of another variant, or "
                    "the measurement is wrong. No bound rejects by this peak until it is clear."
                )
