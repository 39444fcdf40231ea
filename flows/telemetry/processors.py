"""Counters and clocks of a host's processors, from its kernel. Standard library only."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Final

_MOST_CPUS: Final = 16  # read per look: a large host has hundreds, and each is a file
_USED: Final = (0, 1, 2, 5, 6)  # user, nice, system, interrupts of /proc/stat
_STEAL: Final = 7
_ALL: Final = range(8)


class Processors:
    """Looks at the processors below a root; what the kernel does not tell is None."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        files = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
        self._clocks = files[:: max(1, -(-len(files) // _MOST_CPUS))]

    def sample(self, at_ns: int) -> dict[str, Any]:
        """Counters since the host started, in ticks, faults and pages, and clocks in MHz."""
        ticks = [int(word) for word in self._words("stat", "cpu")]
        mhz = [clock for path in self._clocks if (clock := _mhz(path)) is not None]
        return {
            "source": "host",
            "at_ns": at_ns,
            "used_ticks": sum(ticks[index] for index in _USED) if ticks else None,
            "steal_ticks": ticks[_STEAL] if ticks else None,
            "all_ticks": sum(ticks[index] for index in _ALL) if ticks else None,
            "major_faults": self._count("pgmajfault"),
            "swapped_in_pages": self._count("pswpin"),
            "cpu_mhz": statistics.median(mhz) if mhz else None,
            "cpu_mhz_low": min(mhz, default=None),
            "cpu_mhz_high": max(mhz, default=None),
        }

    def _count(self, name: str) -> int | None:
        words = self._words("vmstat", name)
        return int(words[0]) if words else None

    def _words(self, file: str, name: str) -> list[str]:
        try:
            text = (self._proc / file).read_text(encoding="ascii")
        except OSError:
            return []
        lines = (line.split() for line in text.splitlines())
        return next((words[1:] for words in lines if words and words[0] == name), [])


def _mhz(path: Path) -> float | None:
    try:
        return int(path.read_text(encoding="ascii")) / 1000
    except (OSError, ValueError):
        return None
