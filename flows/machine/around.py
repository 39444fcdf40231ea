"""What surrounds the accelerators: disks, network cards, firmware. Standard library only."""

from __future__ import annotations

from typing import Any, Final

from flows.control.host import Host

_SECTOR: Final = 512  # /sys counts in these, whatever the disk's own are
_VIRTUAL: Final = ("loop", "ram", "zram", "sr", "dm-", "md", "fd", "nbd")
_BIOS: Final = ("bios_vendor", "bios_version", "bios_date")


def around(host: Host) -> dict[str, Any]:
    """Bytes and kinds of disks, number and speeds of network cards, firmware; None: untold."""
    disks = [
        (name, size)
        for path in host.paths("sys/block/*/size")
        if not (name := path.split("/")[-2]).startswith(_VIRTUAL)
        and (size := _whole(host.read(path)))
    ]
    cards = host.paths("sys/class/net/*/device")
    speeds = {_whole(host.read(path.removesuffix("device") + "speed")) for path in cards}
    bios = [
        host.read(path) for name in _BIOS for path in host.paths(f"sys/class/dmi/id/{name}")
    ]
    return {
        "disk_bytes": sum(size for _, size in disks) * _SECTOR or None,
        "disk_kinds": sorted({_kind(host, name) for name, _ in disks}),
        "network_cards": len(cards) or None,
        "network_mbit": sorted(each for each in speeds if each is not None and each > 0),
        "bios": " ".join(filter(None, bios)) or None,
    }


def _kind(host: Host, disk: str) -> str:
    if disk.startswith("nvme"):
        return "NVMe SSD"
    paths = host.paths(f"sys/block/{disk}/queue/rotational")
    spins = host.read(paths[0]) if paths else None
    return {"0": "SSD", "1": "HDD"}.get(spins or "", "disk")


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None
