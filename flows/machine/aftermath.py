"""What a machine shows after a server failed on it, fetched before the machine goes.

Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from flows.control.host import Host
from flows.machine.look import found_machine

_TELLING: Final = re.compile(
    r"NVRM|Xid|amdgpu|out of memory|oom-kill|oom_reaper|I/O error|No space|segfault|"
    r"hardware error|machine check|hung_task|blocked for more than|nvidia-nvswitch|nvlink",
    re.IGNORECASE,
)
_STAMP: Final = re.compile(r"\[\s*(\d+\.\d+)\]")
_MOST_LINES: Final = 200
_MEMORY: Final = ("MemTotal:", "MemAvailable:", "SwapTotal:", "SwapFree:")


def uptime_s(host: Host) -> float | None:
    """Seconds since the machine started: taken before a launch, it dates what came after."""
    paths = host.paths("proc/uptime")
    words = (host.read(paths[0]) or "").split() if paths else []
    return float(words[0]) if words else None


def aftermath(host: Host, since_s: float | None = None) -> dict[str, Any]:
    """The kernel's telling lines since that uptime, devices and memory, as JSON values.

    ``kernel`` is None where its log may not be read; ``why_no_kernel`` says why.
    """
    told = host.run((*host.prefix, "dmesg"))
    is_read = told.code == 0
    lines = told.output.splitlines() if is_read else []
    return {
        "kernel": list(telling(lines, since_s)) if is_read else None,
        "why_no_kernel": "" if is_read else " ".join(told.output.split())[-200:],
        "devices": found_machine(host).to_json(),
        "memory": _memory(host),
    }


def telling(lines: Sequence[str], since_s: float | None = None) -> tuple[str, ...]:
    """Lines that name a device, memory or a disk, not from before; the last ones of many."""
    found = [line for line in lines if _TELLING.search(line) and not _is_before(line, since_s)]
    return tuple(found[-_MOST_LINES:])


def _is_before(line: str, since_s: float | None) -> bool:
    stamp = _STAMP.search(line)
    return since_s is not None and stamp is not None and float(stamp[1]) < since_s


def _memory(host: Host) -> dict[str, int]:
    paths = host.paths("proc/meminfo")
    lines = (host.read(paths[0]) or "").splitlines() if paths else []
    pairs = (line.split() for line in lines)
    return {
        words[0].rstrip(":"): int(words[1]) * 1024 for words in pairs if words[0] in _MEMORY
    }
