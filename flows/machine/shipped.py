"""Which of our modules control, sample and describe a machine: they need only its Python."""

from __future__ import annotations

from typing import Final

SHIPPED: Final = (
    *(f"flows/control/{name}.py" for name in ("__init__", "__main__", "apply", "expand")),
    *(f"flows/control/{name}.py" for name in ("host", "step")),
    *(f"flows/telemetry/{name}.py" for name in ("__init__", "__main__", "amd", "nvidia")),
    *(f"flows/telemetry/{name}.py" for name in ("nvml", "processors", "sampler")),
    *(f"flows/machine/{name}.py" for name in ("__init__", "aftermath", "amd", "around")),
    *(f"flows/machine/{name}.py" for name in ("found", "look", "nvidia")),
)
