"""Samples from amd-smi's own watch: a stream of JSON documents, in the shapes of its releases.

Standard library only.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

PROGRAM: Final = "amd-smi"
LEAST_EVERY_S: Final = 5  # the tool is a Python program: each look costs tens of milliseconds
# the tool's words for what held the clock back, as bits of NVML's mask
VIOLATIONS: Final[Mapping[str, int]] = {
    "prochot_violation_status": 0x8,
    "ppt_violation_status": 0x4,
    "socket_thermal_violation_status": 0x20,
    "vr_thermal_violation_status": 0x20,
    "hbm_thermal_violation_status": 0x20,
}
_LIMIT_S: Final = 30.0
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "graphics_mhz": ("clock.gfx_0.clk",),
    "memory_mhz": ("clock.mem_0.clk",),
    "power_w": ("power.socket_power", "power.current_socket_power"),
    "temperature_c": ("temperature.hotspot", "temperature.edge"),
    "memory_temperature_c": ("temperature.mem",),
    "utilisation_percent": ("usage.gfx_activity",),
    "memory_used_mib": ("mem_usage.used_vram",),
    "ecc_corrected": ("ecc.total_correctable_count",),
    "ecc_uncorrected": ("ecc.total_uncorrectable_count",),
}


def is_there(program: str = PROGRAM) -> bool:
    """Whether the tool and its driver answer."""
    try:
        done = subprocess.run(  # noqa: S603 - words of our own
            [program, "metric", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def loop_argv(every_s: float, program: str = PROGRAM) -> list[str]:
    """The command that prints a document now and then."""
    return [program, "metric", "--json", "--watch", str(every_s_of(every_s))]


def every_s_of(asked_s: float) -> int:
    """Whole seconds between two looks."""
    return max(LEAST_EVERY_S, round(asked_s))


class Documents:
    """JSON documents out of a stream of text that may be cut anywhere."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, piece: str) -> Iterator[Any]:
        """The documents that this piece completes."""
        self._text += piece
        while True:
            self._text = self._text.lstrip()
            try:
                found, end = json.JSONDecoder().raw_decode(self._text)
            except ValueError:
                return
            self._text = self._text[end:]
            yield found


def samples_of(document: Any, at_ns: int) -> Iterator[dict[str, Any]]:
    """A sample per device of one document, stamped with the time at which it was read."""
    told = document.get("gpu_data", []) if isinstance(document, Mapping) else document
    for each in told if isinstance(told, Sequence) else ():
        if not isinstance(each, Mapping) or not isinstance(each.get("gpu"), int):
            continue
        energy_j = _number(each, ("energy.total_energy_consumption",))
        yield {
            "source": "device",
            "at_ns": at_ns,
            "device": each["gpu"],
            **{name: _number(each, places) for name, places in _PLACES.items()},
            "energy_mj": None if energy_j is None else round(energy_j * 1000),
            "reasons": _reasons(each.get("throttle")),
        }


def _reasons(told: Any) -> int | None:
    """The mask; None where this release does not tell what held the clock back."""
    if not isinstance(told, Mapping):
        return None
    known = {name: told.get(name) for name in VIOLATIONS}
    if not any(value in ("ACTIVE", "NOT ACTIVE") for value in known.values()):
        return None
    mask = 0
    for name, bit in VIOLATIONS.items():
        mask |= bit if known[name] == "ACTIVE" else 0
    return mask


def _number(told: Mapping[str, Any], places: tuple[str, ...]) -> float | None:
    for place in places:
        found: Any = told
        for part in place.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        found = found.get("value") if isinstance(found, Mapping) else found
        if isinstance(found, int | float):
            return float(found)
    return None
