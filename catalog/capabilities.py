"""What a runtime's release can do on a device class, as its catalog entry states it."""

from __future__ import annotations

import re
from functools import cache

from catalog.schema import Runtime
from catalog.schema.runtime import DeviceSupport

_NUMBERS = re.compile(r"^\D*(\d+(?:\.\d+)*)")


def release_index(runtime: Runtime, version: str) -> int | None:
    """Position of a release among those that are known, oldest first; None if it is not."""
    names = [known.version for known in runtime.versions]
    return names.index(version) if version in names else None


def newest_release(runtime: Runtime) -> str:
    """The last release that is known; empty where none is."""
    return runtime.versions[-1].version if runtime.versions else ""


def supported(runtime: Runtime, device_class: str, version: str) -> DeviceSupport | None:
    """What a known release does on a class of devices; None where it does nothing there."""
    for entry in runtime.devices:
        if entry.device_class == device_class and holds(
            runtime, version, since=entry.since, until=entry.until
        ):
            return entry
    return None


def holds(runtime: Runtime, version: str, *, since: str | None, until: str | None) -> bool:
    """Whether a known release lies between two others, both included."""
    place = release_index(runtime, version)
    if place is None:
        return False
    first = release_index(runtime, since) if since is not None else 0
    last = release_index(runtime, until) if until is not None else len(runtime.versions)
    return (first or 0) <= place and (last is None or place <= last)


@cache
def numbers(text: str) -> tuple[int, ...] | None:
    """The numbers of a version or compute capability, to compare; None without any."""
    match = _NUMBERS.match(text)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def is_below(seen: str, needed: str) -> bool | None:
    """Whether one dotted number is below another; None where they cannot be compared."""
    left, right = numbers(seen), numbers(needed)
    return None if left is None or right is None else left < right
