"""Samples of the measured window summed up, as ``cell.json`` keeps them under ``telemetry``.

Energy is the difference of the device's own counter over the window, read on both sides of
it; where a device has none, the integral of its power samples, and the summary says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from reports.run.control_file import Observed
from reports.run.telemetry_file import Row, Telemetry

WINDOW: Final = "measured"
NEAR_MHZ: Final = 15.0  # a clock no further from its target than this is on it
_STEP_MHZ: Final = 15
_GAPS: Final = 3.0  # intervals between samples; more is a hole in the record
_LEAST_GAP_S: Final = 3.0

Floats = np.ndarray[Any, np.dtype[np.float64]]


def summarise_telemetry(
    told: Telemetry,
    *,
    devices: Sequence[int] | None = None,
    targets_mhz: Mapping[int, float] | None = None,
    output_tokens: int | None = None,
) -> dict[str, Any]:
    """Return the window's figures as JSON values; null is not told.

    Parameters
    ----------
    devices
        Those that the server has; None: all that were sampled.
    targets_mhz
        The locked graphics clock by device, empty where none is locked.
    output_tokens
        Output tokens that the server made in the window; energy is divided by them.
    """
    first_ns, last_ns = told.windows[WINDOW]
    by_device = _by_device(told.rows, devices)
    targets = targets_mhz or {}
    found = {
        str(device): _device(rows, first_ns, last_ns, told.every_s, targets.get(device))
        for device, rows in by_device.items()
    }
    energies = [each["energy_j"] for each in found.values()]
    whole = sum(energies) if energies and None not in energies else None
    sources = {each["energy_from"] for each in found.values()}
    return {
        "window_s": (last_ns - first_ns) / 1e9,
        "tool": told.tool,
        "devices": found,
        "missing_devices": sorted(set(devices or ()) - set(by_device)),
        "energy_j": whole,
        "energy_from": None if whole is None else " and ".join(sorted(filter(None, sources))),
        "energy_j_per_output_token": whole / output_tokens if whole and output_tokens else None,
        "host": _host([row for row in told.rows if row["source"] == "host"], first_ns, last_ns),
        "sampling_share_of_core": told.share_of_core,
    }


def sustained_clocks(told: Mapping[str, Any]) -> dict[int, int]:
    """The graphics clock in MHz that each device held throughout a window at free clocks.

    A lock above it is accepted and not held. The lowest sample, down to the next step of 15.
    """
    return {
        int(device): int(found["graphics_mhz"]["low"] // _STEP_MHZ * _STEP_MHZ)
        for device, found in told["devices"].items()
        if found["graphics_mhz"] is not None and found["is_whole"]
    }


def observed_clocks(
    summaries: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str], Observed]:
    """What all cells of a host have shown of its clocks, as ``control.json`` names them."""
    spans: dict[tuple[str, str], list[Mapping[str, float]]] = {}
    for told in summaries:
        for device, found in told["devices"].items():
            for name in ("graphics", "memory"):
                if found[f"{name}_mhz"] is not None:
                    place = (f"{name}_clock_mhz", f"GPU {device}")
                    spans.setdefault(place, []).append(found[f"{name}_mhz"])
    return {
        place: Observed(
            low=min(span["low"] for span in found),
            median=float(np.median([span["median"] for span in found])),
            high=max(span["high"] for span in found),
        )
        for place, found in spans.items()
    }


def _by_device(rows: Sequence[Row], chosen: Sequence[int] | None) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        if row["source"] == "device" and (chosen is None or row["device"] in chosen):
            found.setdefault(int(row["device"]), []).append(row)
    return dict(sorted(found.items()))


def _device(
    rows: Sequence[Row], first_ns: int, last_ns: int, every_s: float, target: float | None
) -> dict[str, Any]:
    within = [row for row in rows if first_ns <= row["at_ns"] <= last_ns]
    clocks = _values(within, "graphics_mhz")
    energy_j, energy_from = _energy(rows, first_ns, last_ns)
    seen = [int(row["reasons"]) for row in within if row.get("reasons") is not None]
    return {
        "samples": len(clocks),
        "is_whole": _is_whole(rows, first_ns, last_ns, every_s),
        "graphics_mhz": _span(clocks),
        "memory_mhz": _span(_values(within, "memory_mhz")),
        "target_mhz": target,
        "share_at_target": None
        if target is None or not len(clocks)
        else float(np.mean(np.abs(clocks - target) <= NEAR_MHZ)),
        "power_w": _mean(_values(within, "power_w")),
        "energy_j": energy_j,
        "energy_from": energy_from,
        "temperature_c": _highest(_values(within, "temperature_c")),
        "utilisation_percent": _mean(_values(within, "utilisation_percent")),
        "memory_used_mib": _highest(_values(within, "memory_used_mib")),
        "reasons": int(np.bitwise_or.reduce(seen)) if seen else None,
        "reasons_share": {
            f"{1 << bit:#x}": count / len(seen)
            for bit in range(16)
            if (count := sum(bool(mask & 1 << bit) for mask in seen))
        },
        "ecc_uncorrected": _rise(rows, "ecc_uncorrected", first_ns, last_ns),
        "ecc_corrected": _rise(rows, "ecc_corrected", first_ns, last_ns),
        "pcie_width": _lowest(_values(within, "pcie_width")),
        "pcie_gen": _lowest(_values(within, "pcie_gen")),
    }


def _host(rows: Sequence[Row], first_ns: int, last_ns: int) -> dict[str, Any]:
    within = [row for row in rows if first_ns <= row["at_ns"] <= last_ns]
    all_ticks = _rise(rows, "all_ticks", first_ns, last_ns)

    def share(name: str) -> float | None:
        ticks = _rise(rows, name, first_ns, last_ns)
        return ticks / all_ticks if ticks is not None and all_ticks else None

    return {
        "samples": len(within),
        "cpu_mhz": _span(_values(within, "cpu_mhz")),
        "cpu_mhz_low": _lowest(_values(within, "cpu_mhz_low")),
        "cpu_mhz_high": _highest(_values(within, "cpu_mhz_high")),
        "used_share": share("used_ticks"),
        "steal_share": share("steal_ticks"),
        "major_faults": _rise(rows, "major_faults", first_ns, last_ns),
        "swapped_in_pages": _rise(rows, "swapped_in_pages", first_ns, last_ns),
    }


def _energy(
    rows: Sequence[Row], first_ns: int, last_ns: int
) -> tuple[float | None, str | None]:
    """Joules in the window and where they come from."""
    counted = _rise(rows, "energy_mj", first_ns, last_ns)
    if counted is not None and counted > 0:
        return counted / 1000, "counter"
    known = [row for row in rows if row.get("power_w") is not None]
    at_ns = np.array([row["at_ns"] for row in known], dtype=np.float64)
    if len(at_ns) < 2 or at_ns[0] > first_ns or at_ns[-1] < last_ns:
        return None, None
    watts = np.array([row["power_w"] for row in known], dtype=np.float64)
    inside = at_ns[(at_ns > first_ns) & (at_ns < last_ns)]
    edges = np.concatenate(([first_ns], inside, [last_ns])).astype(np.float64)
    return float(np.trapezoid(np.interp(edges, at_ns, watts), edges) / 1e9), "power samples"


def _rise(rows: Sequence[Row], name: str, first_ns: int, last_ns: int) -> float | None:
    """How far a counter rose in the window, evenly between its readings around each edge.

    None where it was not read on both sides, or was set back meanwhile.
    """
    known = [(row["at_ns"], row[name]) for row in rows if row.get(name) is not None]
    if len(known) < 2 or known[0][0] > first_ns or known[-1][0] < last_ns:
        return None
    at_ns, values = (np.array(each, dtype=np.float64) for each in zip(*known, strict=True))
    if (np.diff(values) < 0).any():
        return None
    low, high = np.interp((first_ns, last_ns), at_ns, values)
    return float(high - low)


def _is_whole(rows: Sequence[Row], first_ns: int, last_ns: int, every_s: float) -> bool:
    """Whether clocks were sampled all through the window, without a hole."""
    stamps = [row["at_ns"] for row in rows if row.get("graphics_mhz") is not None]
    within = [at for at in stamps if first_ns <= at <= last_ns]
    longest = np.diff([first_ns, *within, last_ns]).max() / 1e9
    return bool(within) and float(longest) <= max(_GAPS * every_s, _LEAST_GAP_S)


def _values(rows: Sequence[Row], name: str) -> Floats:
    return np.array([row[name] for row in rows if row.get(name) is not None], dtype=np.float64)


def _span(values: Floats) -> dict[str, float] | None:
    if not len(values):
        return None
    return {
        "low": float(values.min()),
        "median": float(np.median(values)),
        "high": float(values.max()),
    }


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _highest(values: Floats) -> float | None:
    return float(values.max()) if len(values) else None


def _lowest(values: Floats) -> float | None:
    return float(values.min()) if len(values) else None
