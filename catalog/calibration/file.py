"""``calibration.json``: what microbenchmarks measured on one host, with spread and conditions.

What could not be measured is named with its reason and is never a zero.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from catalog.errors import CatalogError

SCHEMA_VERSION: Final = 1
Precision = Literal["fp32", "bf16", "fp16", "fp8", "int8"]
Name = Literal[
    "memory_read", "memory_triad", "memory_copy", "matmul", "host_to_device", "device_to_host"
]
Unit = Literal["B/s", "FLOP/s"]


class _Part(BaseModel):
    """Immutable; a newer writer's further keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Figure(_Part):
    """One measured rate in base units: the median of ``blocks``, one rate for each repetition.

    ``where`` is ``all`` (the device whole, a CPU's every node with its own cores), ``node N``
    (one memory node with its own cores) or ``core`` (one core alone). ``low`` and ``high`` are
    the two-sided 95% limits of Student's t on the logarithms (None: too few blocks); ``mad`` is
    raw. ``bytes_counted`` says what one pass is counted as, and what it really moves.
    """

    name: Name
    where: str = "all"
    precision: Precision | None = None
    value: float = Field(gt=0)
    unit: Unit
    low: float | None = None
    high: float | None = None
    mad: float
    minimum: float
    maximum: float
    blocks: tuple[float, ...] = Field(min_length=1)
    threads: int | None = None
    working_set_bytes: int | None = None
    is_beyond_cache: bool | None = None
    tool: str
    bytes_counted: str = ""


class CalibratedDevice(_Part):
    """All sockets of a CPU host as one device, or one accelerator.

    ``catalog_device`` is the catalog's entry of this product; None where none fits.
    ``cores`` are those that were used, one thread each.
    """

    kind: Literal["cpu", "accelerator"]
    index: int = 0
    title: str
    vendor: str
    device_class: str
    catalog_device: str | None = None
    sockets: int = 1
    cores: int | None = None
    memory_bytes: int | None = None
    on_chip_bytes: int | None = None
    figures: tuple[Figure, ...] = ()

    def figure(
        self, name: Name, *, where: str = "all", precision: Precision | None = None
    ) -> Figure | None:
        """The figure of this name and place; None where it was not measured."""
        return next(
            (
                each
                for each in self.figures
                if (each.name, each.where, each.precision) == (name, where, precision)
            ),
            None,
        )


class AllReducePoint(_Part):
    """Seconds of one all-reduce of so many bytes: median, lowest and highest of the blocks."""

    message_bytes: int = Field(gt=0)
    seconds: float = Field(gt=0)
    minimum: float
    maximum: float


class AllReduce(_Part):
    """All-reduces over ``devices`` ranks, and the line through them.

    Each costs α + 2(k−1)/k · M / bandwidth; ``residual`` is the root mean square and
    ``worst_residual`` the largest of the relative differences.
    """

    devices: int = Field(ge=2)
    device_class: str
    backend: str
    tool: str
    alpha_s: float = Field(ge=0)
    bandwidth: float = Field(gt=0)
    residual: float
    worst_residual: float
    points: tuple[AllReducePoint, ...]


class Unavailable(_Part):
    """A figure that could not be measured, and why."""

    what: str
    why: str


class CalibrationFile(_Part):
    """One host's calibration.

    ``fingerprint`` is the SHA-256 of ``hardware``: figures are of that hardware, kernel and
    driver alone. ``disturbances`` are what else went on (empty: nothing was noticed); with
    any, figures stand only in an exploratory calibration. ``conditions`` keep clocks,
    governor, temperatures and foreign load as they were seen.
    """

    schema_version: Literal[1] = 1
    runoff_version: str
    host: str
    measured_at: AwareDatetime
    seconds: float
    mode: Literal["full", "short"]
    exploratory: bool = False
    fingerprint: str
    hardware: dict[str, Any]
    conditions: dict[str, Any] = Field(default_factory=dict)
    disturbances: tuple[str, ...] = ()
    devices: tuple[CalibratedDevice, ...]
    all_reduces: tuple[AllReduce, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()

    @model_validator(mode="after")
    def _disturbed_only_if_exploratory(self) -> CalibrationFile:
        if self.disturbances and not self.exploratory:
            raise ValueError("a disturbed calibration is void; it must say exploratory")
        return self

    @property
    def day(self) -> dt.date:
        """The day that it was measured on, in UTC."""
        return self.measured_at.astimezone(dt.UTC).date()

    @property
    def cpu(self) -> CalibratedDevice | None:
        """The host's processors."""
        return next((each for each in self.devices if each.kind == "cpu"), None)

    @property
    def accelerators(self) -> tuple[CalibratedDevice, ...]:
        """The host's accelerators."""
        return tuple(each for each in self.devices if each.kind == "accelerator")

    @property
    def source(self) -> str:
        """How a figure taken from it is cited."""
        kind = "exploratory calibration" if self.exploratory else "calibration"
        return f"{kind} of {self.host} ({self.fingerprint[:8]})"


def read_calibration(path: Path) -> CalibrationFile:
    """The calibration in a file.

    Raises
    ------
    CatalogError
        With the place of what does not fit.
    """
    try:
        return CalibrationFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise CatalogError(
            str(path), f"cannot be read: {error.strerror}", "Make one: runoff calibrate"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise CatalogError(
            str(path), f"{place}: {first['msg']}", "Make it anew: runoff calibrate"
        ) from None


def calibration_text(file: CalibrationFile) -> str:
    """The file's content, the same for the same values."""
    return file.model_dump_json(indent=1) + "\n"
