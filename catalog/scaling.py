"""What a tensor-parallel degree saves against a smaller one, and what its link costs."""

from __future__ import annotations

from dataclasses import dataclass

from catalog import links
from catalog.architecture import all_reduce_bytes
from catalog.placement import Placement
from catalog.roofline import (
    Roof,
    assumed_prefill,
    assumed_step,
    bound_prefill,
    bound_step,
    throughput_batch,
)
from catalog.schema import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Seconds of a step that degree k saves over its sibling, and that its all-reduces cost."""

    saved_s: float
    cost_s: float

    @property
    def pays(self) -> bool:
        """Whether the degree is faster than its sibling."""
        return self.cost_s < self.saved_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Decode and prefill in one column of the gate; None where a rate is unknown."""

    decode: Phase | None
    prefill: Phase | None

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Those phases that could be computed."""
        return tuple(phase for phase in (self.decode, self.prefill) if phase is not None)

    @property
    def pays(self) -> bool:
        """Whether the degree is faster in every phase that could be computed."""
        return all(phase.pays for phase in self.phases)


def streams_of(placement: Placement) -> int:
    """Streams of a step in which the degrees are compared."""
    if placement.terms.kind == "offline":
        return throughput_batch(placement)
    return placement.streams


def new_prompt_tokens(placement: Placement) -> int:
    """Tokens that a prefill exchanges: the prompt without a cached prefix."""
    terms = placement.terms
    return terms.prompt - min(terms.cached_prefix, terms.prompt - 1)


def bound_scaling(placement: Placement, sibling: Placement, link: Link) -> Scaling:
    """Peak rates, no start-up cost, one direction's bandwidth."""

    def cost(place: Placement, tokens: int) -> float:
        return links.bound_communication_s(place.arithmetic, link, place.k, tokens)

    batch, prompt = streams_of(placement), new_prompt_tokens(placement)
    return Scaling(
        decode=_phase(
            bound_step(placement, batch),
            bound_step(sibling, batch),
            cost(placement, batch),
            cost(sibling, batch),
        ),
        prefill=_phase(
            bound_prefill(placement),
            bound_prefill(sibling),
            cost(placement, prompt),
            cost(sibling, prompt),
        ),
    )


def assumed_scaling(placement: Placement, sibling: Placement, link: Link) -> Scaling:
    """Achieved rates and the link's measured all-reduces; a single rank pays none."""

    def cost(place: Placement, tokens: int) -> float | None:
        if place.k == 1:
            return 0.0
        return links.assumed_communication_s(place.arithmetic, link, place.k, tokens)

    batch, prompt = streams_of(placement), new_prompt_tokens(placement)
    return Scaling(
        decode=_phase(
            assumed_step(placement, batch),
            assumed_step(sibling, batch),
            cost(placement, batch),
            cost(sibling, batch),
        ),
        prefill=_phase(
            assumed_prefill(placement),
            assumed_prefill(sibling),
            cost(placement, prompt),
            cost(sibling, prompt),
        ),
    )


def _phase(
    time: Roof, sibling: Roof, cost_s: float | None, sibling_cost_s: float | None
) -> Phase | None:
    if time.seconds is None or sibling.seconds is None:
        return None
    if cost_s is None or sibling_cost_s is None:
        return None
    faster_s = (sibling.seconds - time.seconds) * time.tokens
    return Phase(saved_s=faster_s + sibling_cost_s, cost_s=cost_s)


def break_even_alpha_s(placement: Placement, link: Link, phase: Phase) -> float | None:
    """Start-up cost per all-reduce at which the assumed decode stops being faster."""
    row = links.effective_row(link, placement.k)
    if row is None:
        return None
    model = placement.arithmetic
    moved = links.ring_share(placement.k) * all_reduce_bytes(model.arch, streams_of(placement))
    return phase.saved_s / model.all_reduces - moved / row.bandwidth.value


def lesson_step_s(placement: Placement) -> float | None:
    """The lesson's decode step on each rank, communication apart."""
    rate = placement.achieved_bandwidth
    if rate is None:
        return None
    sums = placement.sums
    moved = sums.assumed_weights + streams_of(placement) * sums.lesson_kv_read
    return moved / rate.value


def lesson_break_even_alpha_s(
    placement: Placement, sibling: Placement, link: Link
) -> float | None:
    """The same by the lesson's rule: both directions' bandwidth, no ring factor."""
    mine, other = lesson_step_s(placement), lesson_step_s(sibling)
    if mine is None or other is None or link.lesson is None:
        return None
    model = placement.arithmetic
    each = (other - mine) / model.all_reduces
    moved = all_reduce_bytes(model.arch, streams_of(placement))
    return each - moved / link.lesson.bandwidth.value
