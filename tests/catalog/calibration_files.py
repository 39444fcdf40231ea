"""Calibrations as values: of a CPU host or of accelerators, with the rates that are given."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from catalog.calibration.file import AllReduce, CalibratedDevice, CalibrationFile, Figure

DAY = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


def figure(name: str, value: float, **more: Any) -> Figure:
    """A figure of two equal blocks."""
    return Figure(
        name=name,
        value=value,
        unit="FLOP/s" if name == "matmul" else "B/s",
        mad=0.0,
        minimum=value,
        maximum=value,
        blocks=(value, value),
        tool="a test",
        **more,
    )


def cpu_device(
    bandwidth: float | None = None,
    compute: Mapping[str, float] | None = None,
    *,
    core_bandwidth: float | None = None,
    core_compute: Mapping[str, float] | None = None,
    **more: Any,
) -> CalibratedDevice:
    figures = []
    for where, read, products in (
        ("all", bandwidth, compute),
        ("core", core_bandwidth, core_compute),
    ):
        if read is not None:
            figures.append(figure("memory_read", read, where=where))
        for precision, rate in (products or {}).items():
            figures.append(figure("matmul", rate, where=where, precision=precision))
    stated = {
        "title": "A processor",
        "vendor": "a vendor",
        "device_class": "cpu-x86",
        "cores": 8,
        "memory_bytes": 64 * 2**30,
        "on_chip_bytes": 32 * 2**20,
    }
    return CalibratedDevice(kind="cpu", figures=tuple(figures), **{**stated, **more})


def accelerator(
    bandwidth: float | None = None,
    compute: Mapping[str, float] | None = None,
    *,
    catalog_device: str | None = "nvidia-l4",
    **more: Any,
) -> CalibratedDevice:
    figures = [] if bandwidth is None else [figure("memory_read", bandwidth)]
    figures += [figure("matmul", rate, precision=p) for p, rate in (compute or {}).items()]
    stated = {
        "title": "NVIDIA L4",
        "vendor": "nvidia",
        "device_class": "cuda",
        "memory_bytes": 23034 * 2**20,
    }
    return CalibratedDevice(
        kind="accelerator",
        catalog_device=catalog_device,
        figures=tuple(figures),
        **{**stated, **more},
    )


def all_reduce(devices: int, alpha_s: float, bandwidth: float, **more: Any) -> AllReduce:
    stated = {"device_class": "cuda", "backend": "nccl", "tool": "a test", "points": ()}
    return AllReduce(
        devices=devices,
        alpha_s=alpha_s,
        bandwidth=bandwidth,
        residual=0.0,
        worst_residual=0.0,
        **{**stated, **more},
    )


def calibration(
    *devices: CalibratedDevice, host: str = "local", **more: Any
) -> CalibrationFile:
    stated = {
        "runoff_version": "0",
        "measured_at": DAY,
        "seconds": 1.0,
        "mode": "full",
        "fingerprint": "f" * 64,
        "hardware": {"cpu": "A processor"},
    }
    return CalibrationFile(host=host, devices=devices, **{**stated, **more})
