"""Every way in which the catalog's offers could serve a contract."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from catalog.architecture import Architecture, Precision, precision
from catalog.capabilities import is_below, newest_release, supports_in
from catalog.case import Case
from catalog.entries import OURS
from catalog.facts import Facts, host_memory_of, memory_of
from catalog.placement import (
    NEEDS_BF16,
    Placement,
    assumed_compute,
    assumed_workspace,
    peak_compute,
)
from catalog.resolve import link_of
from catalog.sale import sale_of
from catalog.schema import Device, Offer, Runtime
from catalog.schema.runtime import DeviceSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One case, and a key that is equal for equal placements."""

    case: Case
    placement_key: Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """A runtime's newest release on one device with one weights precision."""

    runtime: Runtime
    version: str
    support: DeviceSupport
    weights: Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Combinations:
    """Offer × tensor-parallel degree × weights precision × runtime.

    Offers under a commitment that the campaign did not ask for do not stand; owned ones do.
    Degrees are the powers of two that divide an offer's devices. Runtimes stand with their
    newest known release and the precisions that it serves on the device; the contract's own
    precision always stands, to be told why not.
    """

    facts: Facts
    arch: Architecture
    _software: dict[str, tuple[Software, ...]] = field(default_factory=dict)
    _placements: dict[Hashable, Placement] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Combination]:
        facts = self.facts
        allowed = (*facts.campaign.commitments, "owned")
        for name, offer in facts.catalog.offers.items():
            if offer.commitment not in allowed:
                continue
            device = facts.catalog.device(offer.device)
            sale, notes = sale_of(name, offer, facts.today), self._notes(name, offer)
            for software in self._software_for(device):
                weights, runtime = software.weights, software.runtime
                parity = facts.parity(weights, facts.kv)
                for k in _degrees(offer.device_count, software.support):
                    key, placement = self._placement(device, offer, software, k)
                    case = Case(
                        name=f"{name}/tp{k}/{weights.name}/{runtime.name}",
                        placement=placement,
                        sale=sale,
                        parity=parity,
                        notes=notes,
                    )
                    yield Combination(case=case, placement_key=key)

    def _placement(
        self, device: Device, offer: Offer, software: Software, k: int
    ) -> tuple[Hashable, Placement]:
        host, runtime, weights = host_memory_of(offer), software.runtime, software.weights
        memory = memory_of(device, offer)
        key = (
            device.name,
            offer.link,
            memory,
            offer.device_count,
            runtime.name,
            weights.name,
            k,
        )
        if key not in self._placements:
            facts = self.facts
            arithmetic = facts.arithmetic(self.arch, "hub")
            self._placements[key] = Placement(
                terms=facts.terms,
                arithmetic=arithmetic,
                sums=arithmetic.sums(
                    weights, facts.kv, k=k, block_tokens=runtime.kv_block_tokens
                ),
                model=facts.model.name,
                model_verified=facts.model.verified,
                device=device,
                device_count=offer.device_count,
                k=k,
                data_parallel=1,
                replicas=offer.device_count // k,
                link=link_of(facts, None, offer, device),
                runtime=runtime,
                version=software.version,
                driver=None,
                weights=weights,
                kv=facts.kv,
                memory=memory,
                host_memory=host,
                offload=None,
                utilisation=runtime.default_memory_utilisation,
                workspace=assumed_workspace(device),
                peak=peak_compute(device, weights),
                achieved_bandwidth=device.achieved.bandwidth,
                achieved_compute=assumed_compute(device, weights),
            )
        return key, self._placements[key]

    def _software_for(self, device: Device) -> tuple[Software, ...]:
        if device.name not in self._software:
            self._software[device.name] = tuple(self._found(device))
        return self._software[device.name]

    def _found(self, device: Device) -> Iterator[Software]:
        for runtime in self.facts.runtimes.values():
            version = newest_release(runtime)
            entries = supports_in(runtime, device.device_class, version)
            if runtime.simulation or not entries:
                continue
            for weights in self._precisions(device, entries[0]):
                yield Software(
                    runtime=runtime, version=version, support=entries[0], weights=weights
                )

    def _precisions(self, device: Device, support: DeviceSupport) -> Iterator[Precision]:
        contract = self.facts.weights
        yield contract
        for name in support.weights:
            weights = precision(name)
            if weights.name != contract.name and _serves(device, support, weights):
                yield weights

    def _notes(self, name: str, offer: Offer) -> tuple[str, ...]:
        catalog = self.facts.catalog
        origins = {
            f"offer {name}": catalog.origin("offer", name),
            f"device {offer.device}": catalog.origin("device", offer.device),
        }
        return tuple(
            f"{entry} is from {origin}" for entry, origin in origins.items() if origin != OURS
        )


def _degrees(device_count: int, support: DeviceSupport) -> Iterator[int]:
    k = 1
    while k <= min(device_count, support.maximum_tensor_parallel):
        if device_count % k == 0:
            yield k
        k *= 2


def _serves(device: Device, support: DeviceSupport, weights: Precision) -> bool:
    """Whether the device has what the runtime asks for these weights."""
    if weights.name in NEEDS_BF16 and device.compute and "bf16" not in device.compute:
        return False
    needed = support.compute_capability_by_precision.get(weights.name)
    seen = device.compute_capability
    return needed is None or seen is None or not is_below(seen, needed)
