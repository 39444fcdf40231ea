"""Every way in which the catalog's offers could serve a contract."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from catalog.architecture import Architecture, Precision, precision
from catalog.best_case import best_tokens_per_hour
from catalog.capabilities import is_below, newest_release, supported
from catalog.case import Case
from catalog.entries import OURS
from catalog.facts import Facts, host_memory_of, memory_of
from catalog.placement import NEEDS_BF16, Placement, assumed_compute, peak_compute
from catalog.placing import Machine, Software, placed
from catalog.resolve import link_of
from catalog.sale import sale_of
from catalog.schema import Device, Offer, Runtime
from catalog.schema.runtime import DeviceSupport

Placed = tuple[Placement, float | None]
# Forms in which others publish most open models, where the catalog lists none.
_USUALLY_PUBLISHED = ("fp8", "int8", "awq_int4", "gguf_q8_0", "gguf_q4_k_m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Combinations:
    """Offer × tensor-parallel degree × weights precision × runtime.

    Offers under a commitment that the campaign did not ask for do not stand; owned ones do.
    Degrees are the powers of two that divide an offer's devices. Runtimes stand with their
    newest known release and, beside the contract's own precision, with those in which the
    model is ``published`` (or usually is) and that the release serves on the device.
    """

    facts: Facts
    arch: Architecture
    published: tuple[Precision, ...]
    _software: dict[str, tuple[Software, ...]] = field(default_factory=dict)
    _placements: dict[Hashable, Placed] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Facts, arch: Architecture) -> Combinations:
        """The combinations for a campaign's contract."""
        listed = dict.fromkeys(each.precision for each in facts.model.checkpoints)
        others = [name for name in listed if precision(name).name != facts.weights.name]
        names = others or _USUALLY_PUBLISHED
        return cls(facts=facts, arch=arch, published=tuple(precision(name) for name in names))

    def __iter__(self) -> Iterator[Case]:
        facts = self.facts
        allowed = (*facts.campaign.commitments, "owned")
        for name, offer in facts.catalog.offers.items():
            if offer.commitment not in allowed:
                continue
            device = facts.catalog.device(offer.device)
            sale, notes = sale_of(name, offer, facts.today), self._notes(name, offer)
            machines = tuple(self._machines(device, offer))
            for software in self._software_for(device):
                weights, runtime = software.weights, software.runtime
                parity = facts.parity(weights, facts.kv)
                most = software.support.maximum_tensor_parallel if software.support else 0
                for machine in machines:
                    if machine.k > most:
                        break
                    placement, best = self._placement(machine, software)
                    yield Case(
                        name=f"{name}/tp{machine.k}/{weights.name}/{runtime.name}",
                        placement=placement,
                        best_tokens_per_hour=best,
                        sale=sale,
                        parity=parity,
                        notes=notes,
                    )

    def _machines(self, device: Device, offer: Offer) -> Iterator[Machine]:
        """The offer's devices under each degree: powers of two that divide them, rising."""
        memory, host = memory_of(device, offer), host_memory_of(offer)
        link, k = link_of(self.facts, None, offer, device), 1
        while k <= offer.device_count:
            if offer.device_count % k == 0:
                yield Machine(
                    device=device,
                    memory=memory,
                    host_memory=host,
                    link=link,
                    device_count=offer.device_count,
                    k=k,
                    replicas=offer.device_count // k,
                )
            k *= 2

    def _placement(self, machine: Machine, software: Software) -> Placed:
        """The placement and its best case; offers that sell the same machine share them.

        The host's memory differs between offers of a device, but matters to a CPU alone.
        """
        key = (
            machine.device.name,
            id(machine.link),
            id(machine.memory),
            machine.device_count,
            machine.k,
            software.runtime.name,
            software.weights.name,
        )
        if key not in self._placements:
            placement = placed(self.facts, self.arch, machine, software, "hub")
            self._placements[key] = placement, best_tokens_per_hour(placement)
        return self._placements[key]

    def _software_for(self, device: Device) -> tuple[Software, ...]:
        if device.name not in self._software:
            self._software[device.name] = tuple(self._found(device))
        return self._software[device.name]

    def _found(self, device: Device) -> Iterator[Software]:
        """What can run on the device; all runtimes share the device's rates."""
        rates = {
            weights.name: (peak_compute(device, weights), assumed_compute(device, weights))
            for weights in (self.facts.weights, *self.published)
        }
        for runtime in sorted(self.facts.runtimes.values(), key=_without_pages):
            version = newest_release(runtime)
            support = supported(runtime, device.device_class, version)
            if runtime.simulation or support is None:
                continue
            for weights in self._precisions(device, support):
                peak, achieved = rates[weights.name]
                yield Software(
                    runtime=runtime,
                    version=version,
                    support=support,
                    weights=weights,
                    kv=self.facts.kv,
                    peak=peak,
                    achieved_compute=achieved,
                )

    def _precisions(self, device: Device, support: DeviceSupport) -> Iterator[Precision]:
        """The contract's precision, and those published that the release serves here."""
        contract = self.facts.weights
        yield contract
        for weights in self.published:
            served = weights.name in support.weights and weights.name != contract.name
            if served and _serves(device, support, weights):
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


def _without_pages(runtime: Runtime) -> bool:
    """Whether the KV cache is one slot per stream: such runtimes stand after the paged ones.

    No bound tells runtimes apart, so the order settles ties; the lesson prefers paged caches
    for services with many streams.
    """
    return runtime.kv_block_tokens == 1


def _serves(device: Device, support: DeviceSupport, weights: Precision) -> bool:
    """Whether the device has what the runtime asks for these weights."""
    if weights.name in NEEDS_BF16 and device.compute and "bf16" not in device.compute:
        return False
    needed = support.compute_capability_by_precision.get(weights.name)
    seen = device.compute_capability
    return needed is None or seen is None or not is_below(seen, needed)
