"""Samples of a machine with known figures, on a clock that starts at 0."""

from __future__ import annotations

from typing import Any

from reports.records import Anchor
from reports.run.telemetry_file import Telemetry

S = 10**9


def device(second: float, number: int = 0, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "source": "device",
        "at_ns": round(second * S),
        "device": number,
        "graphics_mhz": 1410.0,
        "memory_mhz": 2619.0,
        "power_w": 500.0,
        "energy_mj": round(1_000_000 + second * 400_000),
        "temperature_c": 60.0,
        "reasons": 0,
        "ecc_uncorrected": 0,
    }
    return {**values, **changes}


def host(second: float, **changes: Any) -> dict[str, Any]:
    ticks = round(second * 400)
    values: dict[str, Any] = {
        "source": "host",
        "at_ns": round(second * S),
        "used_ticks": ticks // 4,
        "steal_ticks": 0,
        "all_ticks": ticks,
        "major_faults": 7,
        "swapped_in_pages": 0,
        "cpu_mhz": 2000.0,
    }
    return {**values, **changes}


def telemetry(
    rows: list[dict[str, Any]], window: tuple[float, float] = (10, 20), **changes: Any
) -> Telemetry:
    values: dict[str, Any] = {
        "rows": tuple(rows),
        "anchor": Anchor(monotonic_ns=0, unix_ns=1_700_000_000 * S),
        "every_s": 1.0,
        "tool": "nvidia-smi",
        "windows": {"measured": (round(window[0] * S), round(window[1] * S))},
        "share_of_core": 0.004,
    }
    return Telemetry(**{**values, **changes})


def steady(seconds: int = 31, number: int = 0, **changes: Any) -> list[dict[str, Any]]:
    return [device(second, number, **changes) for second in range(seconds)]
