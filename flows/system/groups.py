"""What control groups leave to this process: CPUs and bytes (cgroups(7), versions 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from flows.system.texts import Texts, whole

_ROOT: Final = "sys/fs/cgroup"
_UNLIMITED: Final = 2**60  # version 1 writes "no limit" as a number close to 2^63


def cgroup_cpus(texts: Texts) -> float | None:
    """CPUs' worth of time per second that the group may use; None is no limit."""
    found = []
    for folder in _folders(texts, "cpu"):
        quota, _, period = (texts.read(f"{folder}/cpu.max") or "").partition(" ")
        amount, per = whole(quota), whole(period)
        if amount is None:
            amount = texts.number(f"{folder}/cpu.cfs_quota_us")
            per = texts.number(f"{folder}/cpu.cfs_period_us")
        if amount is not None and amount > 0 and per:
            found.append(amount / per)
    return min(found, default=None)


def cgroup_memory_bytes(texts: Texts) -> int | None:
    """Bytes that the group may hold; None is no limit."""
    found = []
    for folder in _folders(texts, "memory"):
        limit = texts.number(f"{folder}/memory.max")
        if limit is None:
            limit = texts.number(f"{folder}/memory.limit_in_bytes")
        if limit is not None and limit < _UNLIMITED:
            found.append(limit)
    return min(found, default=None)


def _folders(texts: Texts, controller: str) -> Iterator[str]:
    """This process's group and those above it, each of which limits it."""
    for line in (texts.read("proc/self/cgroup") or "").splitlines():
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        top = PurePosixPath(_ROOT, controller if names else "")
        group = PurePosixPath(path.lstrip("/"))
        for part in (group, *group.parents):
            yield str(top / part)
