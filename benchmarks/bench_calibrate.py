"""What this machine reaches, and how far calibrations agree: `bench_calibrate.py [times]`.

Each calibration is a short one of its own; figures are the medians of each with their spread
over the calibrations. It is exploratory: who else uses the machine is printed, not refused.
"""

import datetime as dt
import sys
import time
from collections import defaultdict
from dataclasses import replace
from statistics import median

from catalog.load import load_catalog
from catalog.quantity import format_value
from flows.calibrate.measure import HereTarget, calibrated
from flows.calibrate.order import SHORT
from flows.home import cache_folder


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    target, catalog = HereTarget(cache_folder({})), load_catalog()
    found = defaultdict(list)
    for number in range(times):
        start_s = time.monotonic()
        now = dt.datetime.now(dt.UTC)
        file = calibrated(target, replace(SHORT, exploratory=True), catalog, now)
        for device in file.devices:
            for figure in device.figures:
                words = (device.title, figure.name, figure.precision or "", figure.where)
                found[(*words, figure.unit)].append(figure.value)
        print(f"calibration {number + 1}: {time.monotonic() - start_s:.1f} s")
        for line in file.disturbances:
            print(f"  disturbed: {line}")
    for (*words, unit), rates in found.items():
        middle = median(rates)
        spread = (max(rates) - min(rates)) / middle
        print(
            f"{' '.join(filter(None, words))}: {format_value(middle, unit)}, "
            f"{format_value(min(rates), unit)} to {format_value(max(rates), unit)} "
            f"({spread:.1%}) over {len(rates)}"
        )
    for each in file.unavailable:
        print(f"not measured: {each.what}: {each.why}")


if __name__ == "__main__":
    main()
