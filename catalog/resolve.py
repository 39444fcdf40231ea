"""From a candidate's names to its facts; what cannot be resolved is an error or a gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from catalog.architecture import KvPrecision, Precision, kv_precision, precision
from catalog.best_case import best_tokens_per_hour
from catalog.capabilities import newest_release
from catalog.case import Case, Unmodelled
from catalog.entries import OURS, Kind
from catalog.errors import CatalogError
from catalog.facts import Facts, host_memory_of, memory_of
from catalog.launch_settings import maximum_model_length, memory_utilisation, threads
from catalog.measured import as_measured
from catalog.placement import Placement
from catalog.placing import Machine, Software, placed
from catalog.quantity import Basis
from catalog.sale import Sale, is_hourly, sale_of
from catalog.schema import Candidate, Device, Link, Offer, Runtime

_NOT_MODELLED = {
    "pipeline_parallel": "pipeline parallelism",
    "expert_parallel": "expert parallelism",
    "sequence_parallel": "sequence parallelism",
    "context_parallel": "context parallelism",
}
_DOLLARS_PER_MILLION = "USD/Mtok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A candidate with the entries that its names lead to; None where it names none."""

    candidate: Candidate
    offer: Offer | None
    device: Device | None
    runtime: Runtime | None
    link: Link | None
    weights: Precision
    kv: KvPrecision
    sale: Sale

    @property
    def version(self) -> str | None:
        """The pinned release, else the newest one that is known."""
        if self.candidate.version is not None or self.runtime is None:
            return self.candidate.version
        return newest_release(self.runtime)

    @property
    def replicas(self) -> int:
        """Independent servers on the candidate's devices."""
        stated = self.candidate.replicas_per_host
        ranks = self.candidate.tensor_parallel * self.candidate.data_parallel
        return stated if stated is not None else max(1, self.candidate.device_count // ranks)


def resolve(facts: Facts, candidate: Candidate) -> Case | Unmodelled:
    """The candidate with every name replaced by its facts; unknown facts stay None.

    Raises
    ------
    CatalogError
        For names that the catalog lacks, devices that an offer does not have, and settings
        that ask for more memory than a driver leaves.
    """
    named = _named(facts, candidate)
    _check_counts(named)
    memory_utilisation(candidate, 1.0, accepts_oom=facts.campaign.i_accept_oom)
    notes = tuple(_notes(facts, named))
    placement = _placement(facts, named)
    if placement is None:
        return _unmodelled(facts, named, notes)
    notes += tuple(_above_peak(placement))
    return Case(
        name=candidate.name,
        placement=placement,
        best_tokens_per_hour=best_tokens_per_hour(placement),
        sale=named.sale,
        parity=facts.parity(named.weights, named.kv),
        notes=notes,
    )


def _named(facts: Facts, candidate: Candidate) -> Named:
    catalog = facts.catalog
    offer = catalog.offer(candidate.offer) if candidate.offer is not None else None
    device = _device(facts, candidate, offer)
    measured = catalog.measured.get(candidate.name)
    if device is None and measured is not None:
        device = measured.device
    stated = candidate.precision, candidate.kv_precision
    return Named(
        candidate=candidate,
        offer=offer,
        device=device,
        runtime=facts.runtime(candidate.runtime) if candidate.runtime is not None else None,
        link=link_of(facts, candidate.link, offer, device),
        weights=precision(stated[0]) if stated[0] is not None else facts.weights,
        kv=kv_precision(stated[1]) if stated[1] is not None else facts.kv,
        sale=_sale(facts, candidate, offer),
    )


def _device(facts: Facts, candidate: Candidate, offer: Offer | None) -> Device | None:
    if offer is None:
        return facts.catalog.device(candidate.device) if candidate.device is not None else None
    if candidate.device is not None and candidate.device != offer.device:
        raise CatalogError(
            f"candidate {candidate.name!r}",
            f"offer {candidate.offer!r} sells {offer.device!r}, not {candidate.device!r}",
            "Drop the device, or name an offer that sells it",
            value=candidate.name,
        )
    return facts.catalog.device(offer.device)


def link_of(
    facts: Facts, stated: str | None, offer: Offer | None, device: Device | None
) -> Link | None:
    """The stated link, else the offer's, else the first that the device lists."""
    name = stated or (offer.link if offer is not None else None)
    if name is None and device is not None and device.links:
        name = device.links[0]
    return facts.catalog.link(name) if name is not None else None


def _sale(facts: Facts, candidate: Candidate, offer: Offer | None) -> Sale:
    sale = sale_of(candidate.offer, offer, facts.today)
    stated = candidate.assumptions.price
    if stated is None and is_hourly(candidate.price):
        stated = candidate.price
    if stated is not None:
        return replace(sale, price=stated, stale=False, stated=True)
    if offer is not None and candidate.device_count > offer.device_count:
        return replace(sale, price=None, stale=False)  # the price of one host of several
    return sale


def _check_counts(named: Named) -> None:
    candidate, offer = named.candidate, named.offer
    if candidate.replicas_per_host is None or offer is None or _spans_hosts(named):
        return
    there = offer.device_count
    replicas = named.replicas
    wanted = candidate.tensor_parallel * candidate.data_parallel * replicas
    if wanted > there:
        raise CatalogError(
            f"candidate {candidate.name!r}",
            f"{replicas} replicas want {wanted} devices and {candidate.offer!r} has {there}",
            "Lower replicas_per_host or the parallel degrees",
            value=candidate.name,
        )


def _spans_hosts(named: Named) -> bool:
    offer = named.offer
    return offer is not None and named.candidate.device_count > offer.device_count


def _gap(facts: Facts, named: Named) -> str:
    """Why no arithmetic covers the candidate; empty where it does."""
    candidate = named.candidate
    if candidate.endpoint:
        return "an endpoint is measured as it stands: nothing is known of its hardware"
    if named.device is None:
        return (
            f"the device of host {candidate.host!r}; name one of the catalog, or measure it: "
            f"runoff calibrate {candidate.host}"
        )
    if _spans_hosts(named):
        return "not modelled: several hosts; measure the fleet as an endpoint"
    for key, layout in _NOT_MODELLED.items():
        if getattr(candidate, key) > 1:
            return f"not modelled: {layout}"
    return facts.gap


def _placement(facts: Facts, named: Named) -> Placement | None:
    candidate, device, runtime = named.candidate, named.device, named.runtime
    if _gap(facts, named) or device is None or runtime is None or facts.arch is None:
        return None
    machine = Machine(
        device=device,
        memory=memory_of(device, named.offer),
        host_memory=host_memory_of(named.offer),
        link=named.link,
        device_count=candidate.device_count,
        k=candidate.tensor_parallel,
        replicas=named.replicas,
        data_parallel=candidate.data_parallel,
    )
    software = Software.on(device, runtime, named.version or "", named.weights, named.kv)
    plain = placed(facts, facts.arch, machine, software, candidate.checkpoint)
    stated = _as_stated(facts, candidate, plain)
    measured = facts.catalog.measured.get(candidate.name)
    return stated if measured is None else as_measured(stated, measured, threads(candidate))


def _as_stated(facts: Facts, candidate: Candidate, plain: Placement) -> Placement:
    """The placement with what the campaign states in place of the catalog's assumptions."""
    stated, speculation = candidate.assumptions, candidate.speculation
    return replace(
        plain,
        driver=candidate.driver,
        offload=candidate.offload,
        utilisation=memory_utilisation(
            candidate, plain.utilisation, accepts_oom=facts.campaign.i_accept_oom
        ),
        workspace=stated.workspace or plain.workspace,
        achieved_bandwidth=stated.bandwidth or plain.achieved_bandwidth,
        achieved_compute=stated.compute or plain.achieved_compute,
        draft_tokens=speculation.draft_tokens if speculation is not None else 0,
        maximum_model_length=maximum_model_length(candidate),
    )


def _unmodelled(facts: Facts, named: Named, notes: tuple[str, ...]) -> Unmodelled:
    candidate, device, price = named.candidate, named.device, named.candidate.price
    per_token = price is not None and price.unit == _DOLLARS_PER_MILLION
    is_known = device is not None
    return Unmodelled(
        name=candidate.name,
        reason=_gap(facts, named),
        sale=named.sale,
        device=device.name if device is not None else None,
        device_title=device.title if device is not None else None,
        device_count=candidate.device_count if is_known else None,
        tensor_parallel=candidate.tensor_parallel if is_known else None,
        precision=named.weights.name,
        kv_precision=named.kv.name,
        runtime=candidate.runtime,
        version=named.version,
        replicas_per_host=named.replicas if is_known else None,
        parity=facts.parity(named.weights, named.kv),
        price_per_1m_output=price.value if price is not None and per_token else None,
        notes=notes,
    )


def _notes(facts: Facts, named: Named) -> Iterator[str]:
    """What was taken from where, where a reader might expect otherwise."""
    candidate, runtime, sale = named.candidate, named.runtime, named.sale
    yield from origins(facts, named)
    if runtime is not None and candidate.version is None:
        yield f"version not pinned: {named.version} is the newest known of {runtime.title}"
    if runtime is not None and runtime.simulation:
        yield f"{runtime.title} simulates: its figures are never a machine's"
    measured = facts.catalog.measured.get(candidate.name)
    if measured is not None:
        yield measured.note
    if candidate.tensor_parallel > 1 and named.link is not None and not candidate.link:
        yield f"link taken to be {named.link.title}"
    if sale.stated and sale.price is not None:
        yield f"price as the campaign states it: {sale.price}"
    if sale.stale:
        yield "the price is older than 90 days: it cannot decide a signoff"
    offer = named.offer
    if offer is None or offer.sold_as != "instance" or sale.stated or sale.price is None:
        return
    used = candidate.tensor_parallel * candidate.data_parallel * named.replicas
    if used < offer.device_count:
        are = "is" if used == 1 else "are"
        yield f"the price is that of all {offer.device_count} devices; {used} {are} used"


def _above_peak(placement: Placement) -> Iterator[str]:
    """Assumed rates that no such device can reach, and measured ones that contradict it."""
    for each in placement.contradicted:
        yield f"CONTRADICTION: {each}; the catalog's entry or the measurement is wrong"
    pairs = (
        (placement.achieved_bandwidth, placement.device.memory_bandwidth),
        (placement.achieved_compute, placement.peak),
    )
    for assumed, peak in pairs:
        if assumed is None or peak is None or assumed.basis is Basis.MEASUREMENT:
            continue
        if assumed.value > peak.value:
            yield f"the assumed {assumed} is above the peak of {peak}"


def origins(facts: Facts, named: Named) -> Iterator[str]:
    """Which entries come from a user's own catalog folder."""
    entries: tuple[tuple[Kind, str | None], ...] = (
        ("device", named.device.name if named.device is not None else None),
        ("offer", named.candidate.offer),
        ("model", facts.model.name),
        ("link", named.link.name if named.link is not None else None),
    )
    for kind, name in entries:
        if name is None or (kind == "model" and name not in facts.catalog.models):
            continue
        origin = facts.catalog.origin(kind, name)
        if origin != OURS:
            yield f"{kind} {name} is from {origin}"
