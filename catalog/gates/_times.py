"""Two times against one limit: what the bandwidth and the compute gate have in common."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.gates._answers import assumed, bound, compared, stated, unverified
from catalog.placement import Placement
from catalog.quantity import Basis, Quantity
from catalog.roofline import Roof
from catalog.verdict import Status

BY_MEASUREMENT = (
    "{assumption} at the measured rates, and no peak is below them; {limit} are allowed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """A bound and an assumed time, and the limit that they must keep.

    ``missing`` names the facts without which a pass cannot be said. ``longest`` is the bound at
    rates that were measured on the device, where its peaks are unknown (``at_measured``): no
    true bound is longer.
    """

    roof: Roof
    assumed: Roof
    limit_s: float | None
    missing: tuple[str, ...] = ()
    longest: Roof | None = None

    @property
    def bound(self) -> Quantity | None:
        """Milliseconds that no implementation can beat; None where nothing is known."""
        seconds = self.roof.known_s
        return None if seconds is None else bound(seconds * 1e3, "ms")

    @property
    def assumption(self) -> Quantity | None:
        """Milliseconds by the lesson's rule; None without any assumed rate."""
        seconds = self.assumed.known_s
        return None if seconds is None else assumed(seconds * 1e3, "ms")

    @property
    def limit(self) -> Quantity | None:
        """The contract's limit in milliseconds."""
        return None if self.limit_s is None else stated(self.limit_s * 1e3, "ms")

    @property
    def is_violated(self) -> bool:
        """Whether what is known already exceeds the limit."""
        least = self.roof.known_s
        return self.limit_s is not None and least is not None and least > self.limit_s

    @property
    def is_violated_by_memory(self) -> bool:
        """Whether moving the bytes alone already exceeds the limit."""
        alone = self.roof.memory_alone_s
        return self.limit_s is not None and alone is not None and alone > self.limit_s

    def judged(self, doubts: tuple[str, ...]) -> tuple[Status, float | None]:
        """Status and margin; ``doubts`` name unverified facts that the bound rests on."""
        least = self.roof.known_s
        if self.limit_s is None:
            return Status.NOT_APPLICABLE, None
        if least is None or (self.missing and not self.is_violated):
            return by_measurement(self.longest, self.assumed.known_s, self.limit_s)
        return compared(least, self.assumed.known_s, self.limit_s, doubts=doubts)


def by_measurement(
    longest: Roof | None, likely: float | None, limit: float
) -> tuple[Status, float | None]:
    """Status and margin without a peak: by rates that were measured on the device itself.

    Where even they keep the limit no bound can exceed it; where they exceed it they say no as
    an assumption does. Without such rates, or where one is lacking, nothing is known.
    """
    if longest is None or likely is None:
        return Status.UNKNOWN, None
    if likely > limit or (longest.seconds is not None and longest.seconds <= limit):
        return compared(0.0, likely, limit)
    return Status.UNKNOWN, None


def worded(template: str, place: Placement) -> str:
    """The sentence with "measured" for "assumed" where the rate that it names was."""
    for name in ("achieved_bandwidth", "achieved_compute"):
        if _is_measured(getattr(place, name)):
            template = template.replace(f"assumed {{{name}}}", f"measured {{{name}}}")
    if _is_measured(place.achieved_bandwidth) or _is_measured(place.achieved_compute):
        template = template.replace("by assumption", "at the measured rates")
    return template


def _is_measured(rate: Quantity | None) -> bool:
    return rate is not None and rate.basis is Basis.MEASUREMENT


def missing_rates(place: Placement) -> tuple[str, ...]:
    """Which peak rates of the device the catalog does not know."""
    if place.device.memory_bandwidth is not None and place.peak is not None:
        return ()
    title, names = place.device.title, []
    if place.device.memory_bandwidth is None:
        names.append(f"the memory bandwidth of {title}")
    if place.peak is None:
        names.append(f"the peak FLOP/s of {title} for {place.weights.name}")
    return tuple(names)


def missing_detail(place: Placement) -> dict[str, Quantity | str]:
    """The missing rates as a detail that sentences can name; empty where none is missing."""
    missing = missing_rates(place)
    return {"missing": " and ".join(missing)} if missing else {}


def common_doubts(place: Placement) -> tuple[str, ...]:
    """What every time rests on: the model's configuration, and that the device does it all.

    A runtime may compute what is offloaded on the host, at rates of the host's own.
    """
    model = () if place.model_verified else (f"the configuration of {place.model}",)
    host = () if place.offload is None else ("that the host serves no part of the model",)
    return model + host + place.contradicted


def side_doubts(place: Placement, *, memory: bool) -> tuple[str, ...]:
    """Unverified facts under one side of a roof: memory traffic, or arithmetic."""
    doubts = common_doubts(place)
    if not memory:
        return doubts + unverified({"peak compute": place.peak})
    cache, caches = place.device.on_chip_cache, "the size of the on-chip caches"
    if cache is None:
        return (*doubts, caches)
    return doubts + unverified({"peak bandwidth": place.device.memory_bandwidth, caches: cache})
