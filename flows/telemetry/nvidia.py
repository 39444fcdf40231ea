"""Samples from nvidia-smi, which runs once and repeats itself: a start costs more than a look.

Fields come and go with driver versions: each is asked for by its names in turn, and one that
no name reaches is null. Standard library only.
"""

from __future__ import annotations

import calendar
import math
import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

PROGRAM: Final = "nvidia-smi"
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "told_at": ("timestamp",),
    "device": ("index",),
    "graphics_mhz": ("clocks.gr",),
    "memory_mhz": ("clocks.mem",),
    "power_w": ("power.draw.instant", "power.draw"),
    "power_average_w": ("power.draw",),
    "temperature_c": ("temperature.gpu",),
    "memory_temperature_c": ("temperature.memory",),
    "utilisation_percent": ("utilization.gpu",),
    "memory_used_mib": ("memory.used",),
    "reasons": ("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
    "pcie_gen": ("pcie.link.gen.gpucurrent", "pcie.link.gen.current"),
    "pcie_width": ("pcie.link.width.current",),
    "ecc_corrected": ("ecc.errors.corrected.volatile.total",),
    "ecc_uncorrected": ("ecc.errors.uncorrected.volatile.total",),
}
CLOCK: Final[Mapping[str, str]] = {"TZ": "UTC0"}  # an hour of local time may come twice
_FORMAT: Final = "--format=csv,noheader,nounits"
_INVALID: Final = re.compile(r'Field "([^"]+)" is not a valid field')
_LIMIT_S: Final = 30.0


def known_fields(program: str = PROGRAM) -> dict[str, str] | None:
    """Our names and this driver's for them; None where the tool or its driver is missing."""
    left = {name: list(names) for name, names in FIELDS.items()}
    while any(left.values()):
        chosen = {name: names[0] for name, names in left.items() if names}
        try:
            done = subprocess.run(  # noqa: S603 - words of our own
                [program, _query(chosen.values()), _FORMAT],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode == 0:
            return chosen
        refused = set(_INVALID.findall(done.stdout + done.stderr))
        if not refused:
            return None
        for names in left.values():
            while names and names[0] in refused:
                names.pop(0)
    return None


def loop_argv(fields: Mapping[str, str], every_ms: int, program: str = PROGRAM) -> list[str]:
    """The command that prints a line per device, again and again."""
    return [program, _query(fields.values()), _FORMAT, "-lms", str(every_ms)]


def sample_of(line: str, fields: Mapping[str, str], anchor_ns: int) -> dict[str, Any] | None:
    """One printed line as a sample; None for a torn or foreign one.

    The stamp is the tool's own, so it holds however late the line is read; ``anchor_ns`` is
    the wall clock minus the monotonic one.
    """
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(fields):
        return None
    told = dict(zip(fields, words, strict=True))
    at_ns = _stamp_ns(told.pop("told_at", ""))
    values = {name: number(word) for name, word in told.items()}
    if at_ns is None or values.get("device") is None:
        return None
    average = values.pop("power_average_w", None)
    if values.get("power_w") is None:
        values["power_w"] = average
    return {"source": "device", "at_ns": at_ns - anchor_ns, **values}


def number(word: str) -> float | int | None:
    """A printed value; what the device or the driver does not tell is None."""
    try:
        found = int(word, 16) if word.startswith("0x") else float(word)
    except ValueError:
        return None  # [N/A], [Not Supported], [Unknown Error], …
    return found if math.isfinite(found) else None  # nan and inf are words of float's own


def _query(names: Iterable[str]) -> str:
    return f"--query-gpu={','.join(names)}"


def _stamp_ns(text: str) -> int | None:
    """Unix nanoseconds of the tool's time: ``2026/08/22 12:00:00.123``."""
    whole, _, part = text.partition(".")
    try:
        seconds = calendar.timegm(time.strptime(whole, "%Y/%m/%d %H:%M:%S"))
        return int(seconds) * 10**9 + int(part.ljust(9, "0")[:9] or 0)
    except ValueError:
        return None
