"""One candidate's machine and software as facts: what every gate but the price reads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from catalog.architecture import KvPrecision, Precision
from catalog.quantity import Basis, Quantity
from catalog.schema import Device, Link, Runtime
from catalog.schema.runtime import DeviceSupport
from catalog.sums import Arithmetic, Sums
from catalog.terms import Terms

# Without the clock that a datasheet's peak assumes, a chip may run this much above it.
UNKNOWN_CLOCK_HEADROOM = 1.10
GPU_WORKSPACE_BYTES = 3.5 * 2**30
CPU_WORKSPACE_BYTES = 4.0 * 2**30
# A reject that an on-chip cache this many times larger would not undo does not rest on it.
CACHE_DOUBT_FACTOR = 4.0
CPU_CLASSES = ("cpu-x86", "cpu-arm")
NEEDS_BF16 = ("bfloat16", "gguf_bf16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """An assumed rate (None: nothing was assumed) and the measured one in its place."""

    name: str
    assumption: Quantity | None
    measurement: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A model on k ranks of a device under a runtime, for one contract.

    ``device_count`` devices hold ``replicas`` independent servers of ``data_parallel``
    engines with ``k`` ranks each. ``family`` is the model_type of the model's config.json.
    Unknown facts are None; ``support`` is None where the release does not run on this class
    of device. ``peak`` is one device's dense FLOP/s in the fastest format that the precision
    may use, at its maximum clock. ``replaced`` are assumptions that a calibration of the host
    has measured, ``contradicted`` peaks that its figures exceed: no bound rests on them.
    """

    terms: Terms
    arithmetic: Arithmetic
    sums: Sums
    model: str
    family: str
    model_verified: bool
    device: Device
    device_count: int
    k: int
    data_parallel: int
    replicas: int
    link: Link | None
    runtime: Runtime
    version: str
    support: DeviceSupport | None
    driver: str | None
    weights: Precision
    kv: KvPrecision
    memory: Quantity | None
    host_memory: Quantity | None
    offload: Quantity | None
    utilisation: float
    workspace: Quantity
    peak: Quantity | None
    achieved_bandwidth: Quantity | None
    achieved_compute: Quantity | None
    draft_tokens: int = 0
    maximum_model_length: int | None = None
    replaced: tuple[Replaced, ...] = ()
    contradicted: tuple[str, ...] = ()

    @property
    def engines(self) -> int:
        """Engines that share the devices' work, each of ``k`` ranks."""
        return self.replicas * self.data_parallel

    @property
    def streams(self) -> int:
        """Streams of one engine at the contract's load: C over the data-parallel engines."""
        return -(-self.terms.streams // self.data_parallel)

    @property
    def is_cpu(self) -> bool:
        """True for a host's sockets taken as one device."""
        return self.device.device_class in CPU_CLASSES

    @property
    def capacity_bytes(self) -> float | None:
        """Memory that one rank may use at the very most, host memory included on request."""
        if self.memory is None:
            return None
        host = self.host_memory.value if self.offload and self.host_memory else 0.0
        return self.memory.value + host / (self.engines * self.k)

    @property
    def usable_bytes(self) -> float | None:
        """Memory that one rank may plan with: the stated share, and what is offloaded."""
        if self.memory is None:
            return None
        offloaded = self.offload.value / self.k if self.offload is not None else 0.0
        return self.memory.value * self.utilisation + offloaded

    @property
    def is_default_utilisation(self) -> bool:
        """Whether the share of memory is what the runtime takes where nothing is stated."""
        return self.utilisation == self.runtime.default_memory_utilisation

    @property
    def rank_facts(self) -> Hashable:
        """Equal for placements whose ranks have the same facts, whatever runs them.

        Facts count as themselves (by identity): whoever keeps the key keeps the placement.
        The number of engines matters to offline goals and to the host's memory only.
        """
        shares_host = self.terms.kind == "offline" or self.offload is not None
        return (
            id(self.arithmetic),
            id(self.sums),
            id(self.device),
            id(self.link),
            id(self.memory),
            id(self.peak),
            id(self.achieved_bandwidth),
            id(self.achieved_compute),
            id(self.host_memory) if shares_host else 0,
            self.engines if shares_host else 0,
            self.offload and self.offload.value,
            self.workspace.value,
            self.utilisation,
            self.is_default_utilisation,
            self.data_parallel,
            self.draft_tokens,
            self.k,
            self.contradicted,
        )

    def at_degree(self, k: int) -> Placement:
        """The same placement with tensor-parallel degree ``k``."""
        sums = self.arithmetic.sums(
            self.weights, self.kv, k=k, block_tokens=self.runtime.kv_block_tokens
        )
        return replace(self, k=k, sums=sums)


def peak_compute(device: Device, weights: Precision) -> Quantity | None:
    """Dense FLOP/s at the maximum clock in the fastest format that serves ``weights``.

    A peak quoted at a rated clock is scaled to the maximum clock, and is then a bound; where
    the rated clock is not known, 10% are granted. None where the device lists no format that
    would do.
    """
    columns = listed(device.compute, weights)
    if not columns:
        return None
    rated = max(columns, key=lambda peak: peak.value)
    slow, fast = device.rated_clock, device.maximum_clock
    if slow is None or fast is None:
        return _scaled(rated, UNKNOWN_CLOCK_HEADROOM, "10% granted for its clock")
    factor = max(1.0, fast.value / slow.value)
    doubtful = next((clock for clock in (slow, fast) if not clock.is_verified), None)
    if factor == 1.0 and doubtful is None:
        return rated
    if doubtful is not None and rated.is_verified:
        rated = replace(rated, source=doubtful.source)
    return _scaled(rated, factor, "at the maximum clock")


def _scaled(rated: Quantity, factor: float, how: str) -> Quantity:
    return replace(
        rated, value=rated.value * factor, basis=Basis.BOUND, source=f"{rated.source}, {how}"
    )


def listed(columns: Mapping[Any, Quantity], weights: Precision) -> list[Quantity]:
    """FLOP/s of those columns whose formats may serve these weights, narrowest first."""
    types = weights.compute_types
    if weights.name not in NEEDS_BF16 and "bf16" in types:
        types = (*types, "fp16")
    return [columns[name] for name in types if name in columns]


def assumed_compute(device: Device, weights: Precision) -> Quantity | None:
    """FLOP/s that software is assumed to reach on this device; None where nothing is said."""
    achieved = device.achieved.compute
    return next(iter(listed(achieved, weights)), None) or achieved.get("fp32")


def assumed_workspace(device: Device) -> Quantity:
    """Memory that a server needs beside weights and cache: the lesson's 3.5 or 4.0 GiB."""
    if device.achieved.workspace is not None:
        return device.achieved.workspace
    is_cpu = device.device_class in CPU_CLASSES
    return Quantity(
        value=CPU_WORKSPACE_BYTES if is_cpu else GPU_WORKSPACE_BYTES,
        unit="B",
        basis=Basis.ASSUMPTION,
        source="the lesson's workspace",
    )
