"""The energy that NVIDIA devices count, from the driver's library: nvidia-smi prints it not.

Standard library only.
"""

from __future__ import annotations

import ctypes
from typing import Final

LIBRARY: Final = "libnvidia-ml.so.1"


class Energy:
    """Millijoules since the driver was loaded, by device index; none where none are counted."""

    def __init__(self, library: str = LIBRARY) -> None:
        self._devices: dict[int, ctypes.c_void_p] = {}
        try:
            self._nvml = ctypes.CDLL(library)
            if self._nvml.nvmlInit_v2() != 0:
                return
            count = ctypes.c_uint()
            self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
            for index in range(count.value):
                device = ctypes.c_void_p()
                found = self._nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
                if found == 0:
                    self._devices[index] = device
        except (OSError, AttributeError):
            self._devices = {}

    def millijoules(self) -> dict[int, int]:
        """What each device has used so far; those that do not count are left out."""
        found = {}
        for index, device in self._devices.items():
            value = ctypes.c_ulonglong()
            ended = self._nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))
            if ended == 0:
                found[index] = value.value
        return found
