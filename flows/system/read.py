"""A host's facts, read from its kernel."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

from flows.system.facts import Limits, Memory, Platform, SystemFacts
from flows.system.groups import cgroup_cpus, cgroup_memory_bytes
from flows.system.processors import cpu_of
from flows.system.texts import Texts

_CLOCK: Final = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_PRODUCT: Final = "sys/class/dmi/id"
_CONTAINER_MARKS: Final = (".dockerenv", "run/.containerenv")


def system_facts(
    texts: Texts,
    host_id: str,
    *,
    now: dt.datetime,
    architecture: str,
    allowed: Sequence[int],
    open_files: tuple[int, int] | None,
    software: Mapping[str, str],
) -> SystemFacts:
    """The host below ``texts``; what its kernel does not tell is None.

    ``open_files`` are the limit of this process and the most that it may raise it to.
    """
    least, most = open_files if open_files is not None else (None, None)
    return SystemFacts(
        host_id=host_id,
        captured_at=now,
        platform=_platform(texts, architecture),
        cpu=cpu_of(texts, allowed),
        memory=memory_of(texts),
        limits=Limits(
            cgroup_cpus=cgroup_cpus(texts),
            cgroup_memory_bytes=cgroup_memory_bytes(texts),
            open_files=least,
            open_files_most=most,
        ),
        software=software,
    )


def memory_of(texts: Texts) -> Memory:
    """Main memory and swap as /proc/meminfo has them."""
    pairs = (line.split() for line in (texts.read("proc/meminfo") or "").splitlines())
    sizes = {words[0]: int(words[1]) * 1024 for words in pairs if words[-1] == "kB"}
    return Memory(
        total_bytes=sizes.get("MemTotal:"),
        available_bytes=sizes.get("MemAvailable:"),
        swap_total_bytes=sizes.get("SwapTotal:"),
        huge_pages=_chosen(texts.read("sys/kernel/mm/transparent_hugepage/enabled")),
    )


def _chosen(text: str | None) -> str | None:
    """The word in brackets: ``always [madvise] never``."""
    words = (text or "").split()
    return next((word.strip("[]") for word in words if word.startswith("[")), None)


def _platform(texts: Texts, architecture: str) -> Platform:
    product = " ".join(
        text
        for name in ("sys_vendor", "product_name")
        if (text := texts.read(f"{_PRODUCT}/{name}")) is not None
    )
    return Platform(
        architecture=architecture,
        kernel=texts.read("proc/sys/kernel/osrelease") or "unknown",
        distribution=_distribution(texts),
        clock_source=texts.read(_CLOCK),
        is_virtual=_is_virtual(texts),
        hypervisor=texts.read("sys/hypervisor/type"),
        product=product or None,
        is_container=any(map(texts.exists, _CONTAINER_MARKS)) or None,
    )


def _distribution(texts: Texts) -> str | None:
    for line in (texts.read("etc/os-release") or "").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip("\"'")
    return None


def _is_virtual(texts: Texts) -> bool | None:
    """Whether the processor says that a hypervisor is beneath; Arm's does not say."""
    text = texts.read("proc/cpuinfo") or ""
    flags = next((line for line in text.splitlines() if line.startswith("flags")), None)
    return "hypervisor" in flags.split() if flags is not None else None
