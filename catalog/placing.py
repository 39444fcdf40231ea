"""A placement from the catalog's facts alone: what a campaign does not say otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.architecture import Architecture, KvPrecision, Precision
from catalog.capabilities import supported
from catalog.facts import Facts
from catalog.placement import (
    Placement,
    assumed_compute,
    assumed_workspace,
    peak_compute,
)
from catalog.quantity import Quantity
from catalog.schema import Device, Link, Runtime
from catalog.schema.runtime import DeviceSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """A runtime's release with number formats, and what it does on the device's class."""

    runtime: Runtime
    version: str
    support: DeviceSupport | None
    weights: Precision
    kv: KvPrecision
    peak: Quantity | None
    achieved_compute: Quantity | None

    @classmethod
    def on(
        cls, device: Device, runtime: Runtime, version: str, weights: Precision, kv: KvPrecision
    ) -> Software:
        """The release on this device, with what the device computes in its number format."""
        return cls(
            runtime=runtime,
            version=version,
            support=supported(runtime, device.device_class, version),
            weights=weights,
            kv=kv,
            peak=peak_compute(device, weights),
            achieved_compute=assumed_compute(device, weights),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Devices of one host, and how ranks are laid over them."""

    device: Device
    memory: Quantity | None
    host_memory: Quantity | None
    link: Link | None
    device_count: int
    k: int
    replicas: int
    data_parallel: int = 1


def placed(
    facts: Facts, arch: Architecture, machine: Machine, software: Software, checkpoint: str
) -> Placement:
    """The model of the campaign's contract on that machine, by catalog facts."""
    device, runtime, weights = machine.device, software.runtime, software.weights
    arithmetic = facts.arithmetic(arch, checkpoint)
    return Placement(
        terms=facts.terms,
        arithmetic=arithmetic,
        sums=arithmetic.sums(
            weights, software.kv, k=machine.k, block_tokens=runtime.kv_block_tokens
        ),
        model=facts.model.name,
        family=str(facts.model.config.get("model_type")),
        model_verified=facts.model.verified,
        device=device,
        device_count=machine.device_count,
        k=machine.k,
        data_parallel=machine.data_parallel,
        replicas=machine.replicas,
        link=machine.link,
        runtime=runtime,
        version=software.version,
        support=software.support,
        driver=None,
        weights=weights,
        kv=software.kv,
        memory=machine.memory,
        host_memory=machine.host_memory,
        offload=None,
        utilisation=runtime.default_memory_utilisation,
        workspace=assumed_workspace(device),
        peak=software.peak,
        achieved_bandwidth=device.achieved.bandwidth,
        achieved_compute=software.achieved_compute,
    )
