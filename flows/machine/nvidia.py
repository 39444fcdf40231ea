"""``nvidia-smi -q -x`` and ``nvidia-smi topo -m`` as values, over the shapes of its releases.

Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree as ET

from flows.machine.found import FoundDevice, FoundMachine

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_GPU: Final = re.compile(r"GPU(\d+)")
_UNTOLD: Final = frozenset({"", "N/A", "[N/A]", "Not Supported", "Unknown Error", "None"})


def machine_of(xml: str, topology: str = "") -> FoundMachine:
    """The accelerators that the driver lists; none, with the reason, where it lists none."""
    start = xml.find("<?xml")  # some drivers warn before the document
    try:
        root = ET.fromstring(xml[max(start, 0) :])  # noqa: S314 - the driver's own tool
    except ET.ParseError:
        return FoundMachine(why_none=" ".join(xml.split())[:300] or "it said nothing")
    devices = tuple(_device(index, gpu) for index, gpu in enumerate(root.findall("gpu")))
    return FoundMachine(
        vendor="nvidia",
        driver=_text(root, "driver_version"),
        cuda=_text(root, "cuda_version"),
        devices=devices,
        links=links_of(topology),
        why_none="" if devices else "the driver lists no device",
    )


def links_of(text: str) -> Mapping[tuple[int, int], str]:
    """The connection of each pair of devices, each pair once; empty where none is told."""
    lines = [_COLOUR.sub("", line).split("\t") for line in text.splitlines()]
    head = next((line for line in lines if any("GPU0" in word for word in line)), None)
    if head is None:
        return {}
    columns = [int(found[1]) if (found := _GPU.fullmatch(w.strip())) else None for w in head]
    links = {}
    for line in lines:
        row = _GPU.fullmatch(line[0].strip()) if line else None
        for column, word in zip(columns, line, strict=False):
            if row is not None and column is not None and int(row[1]) < column:
                links[int(row[1]), column] = word.strip()
    return links


def _device(index: int, gpu: ET.Element) -> FoundDevice:
    link = "pci/pci_gpu_link_info"
    power = ("gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit")
    return FoundDevice(
        index=index,
        name=_text(gpu, "product_name") or "unknown",
        uuid=_text(gpu, "uuid"),
        memory_mib=_whole(gpu, "fb_memory_usage/total"),
        mig=_switch(gpu, "mig_mode/current_mig"),
        slices=tuple(
            _whole(each, "fb_memory_usage/total") or 0
            for each in gpu.findall("mig_devices/mig_device")
        ),
        persistence=_switch(gpu, "persistence_mode"),
        ecc=_switch(gpu, "ecc_mode/current_ecc"),
        ecc_pending=_switch(gpu, "ecc_mode/pending_ecc"),
        remapped_rows=_remapped(gpu),
        is_remapping_pending=_yes(gpu, "remapped_rows/remapped_row_pending"),
        vbios=_text(gpu, "vbios_version"),
        pcie_gen=_whole(gpu, f"{link}/pcie_gen/current_link_gen"),
        pcie_gen_most=_whole(gpu, f"{link}/pcie_gen/max_link_gen"),
        pcie_width=_whole(gpu, f"{link}/link_widths/current_link_width"),
        pcie_width_most=_whole(gpu, f"{link}/link_widths/max_link_width"),
        power_limit_w=_number(gpu, *power, "power_readings/power_limit"),
        graphics_mhz_most=_number(gpu, "max_clocks/graphics_clock"),
        memory_mhz_most=_number(gpu, "max_clocks/mem_clock"),
        fabric=_fabric(gpu),
        processes=_processes(gpu),
    )


def _text(place: ET.Element, *paths: str) -> str | None:
    """The first path's text that tells something."""
    for path in paths:
        text = (place.findtext(path) or "").strip()
        if text not in _UNTOLD:
            return text
    return None


def _number(place: ET.Element, *paths: str) -> float | None:
    """A number before its unit: ``700.00 W``, ``16x``."""
    found = re.match(r"[\d.]+", _text(place, *paths) or "")
    return float(found[0]) if found else None


def _whole(place: ET.Element, *paths: str) -> int | None:
    found = _number(place, *paths)
    return None if found is None else int(found)


def _switch(place: ET.Element, path: str) -> bool | None:
    return {"Enabled": True, "Disabled": False}.get(_text(place, path) or "")


def _yes(place: ET.Element, path: str) -> bool | None:
    return {"Yes": True, "No": False}.get(_text(place, path) or "")


def _remapped(gpu: ET.Element) -> int | None:
    counts = [_whole(gpu, f"remapped_rows/remapped_row_{kind}") for kind in ("corr", "unc")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _fabric(gpu: ET.Element) -> str | None:
    state, status = _text(gpu, "fabric/state"), _text(gpu, "fabric/status")
    if state is None:
        return None
    return state if status is None else f"{state}: {status}"


def _processes(gpu: ET.Element) -> tuple[int, ...]:
    found = (_whole(each, "pid") for each in gpu.findall("processes/process_info"))
    return tuple(pid for pid in found if pid is not None)
