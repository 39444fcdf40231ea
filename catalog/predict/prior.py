"""What step times are likely to be before anything was measured: a centre and a spread.

Rates come from the catalog: the achieved one where it states one, else the peak times what
software of this class of device usually reaches. The ranges are P10, median and P90 of whole
steps, wider than those of single kernels: a step also launches kernels, samples and schedules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from catalog.links import assumed_communication_s
from catalog.placement import CPU_CLASSES, Placement
from catalog.predict.steps import COEFFICIENTS
from catalog.predict.work import Work, work_of
from catalog.quantity import Basis, Quantity
from catalog.roofline import throughput_batch

Range = tuple[float, float, float]  # P10, median, P90
_P90: Final = 1.2815515655446004  # standard normal deviate
_MEASURED: Final = (0.95, 1.0, 1.05)  # of a rate that was measured on the target
_BATCH: Final = 32  # where the batch that fits is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What software reaches on a class of device.

    ``bandwidth`` and ``compute`` are shares of the peak, ``step_s`` is spent in each step
    whatever it does, ``sequence_s`` for each sequence in it.
    """

    bandwidth: Range
    compute: Range
    step_s: Range = (0.3e-3, 1.0e-3, 4e-3)
    sequence_s: Range = (8e-6, 30e-6, 100e-6)


_ACCELERATOR: Final = Habits(bandwidth=(0.50, 0.65, 0.80), compute=(0.40, 0.60, 0.80))
_OTHER: Final = Habits(bandwidth=(0.35, 0.55, 0.75), compute=(0.20, 0.40, 0.65))
_CPU: Final = Habits(
    bandwidth=(0.35, 0.60, 0.80),
    compute=(0.10, 0.30, 0.60),
    step_s=(0.3e-3, 1.0e-3, 5e-3),
    sequence_s=(20e-6, 100e-6, 500e-6),
)
HABITS: Final = {
    "cuda": _ACCELERATOR,
    "rocm": Habits(bandwidth=(0.40, 0.60, 0.78), compute=(0.30, 0.50, 0.70)),
    "tpu": _OTHER,
    "gaudi": _OTHER,
    "metal": Habits(bandwidth=(0.50, 0.70, 0.85), compute=(0.30, 0.55, 0.80)),
    "intel-gpu": _OTHER,
    **dict.fromkeys(CPU_CLASSES, _CPU),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Medians of the coefficients, as products of factors whose spreads are known.

    ``parts`` are, for each coefficient, amounts over the median of each factor; ``spreads``
    the standard deviations of the factors' logarithms. ``rests_on`` says so in words.
    """

    parts: tuple[dict[str, float], ...]
    spreads: dict[str, float]
    rests_on: tuple[str, ...]

    def centre(self, deviates: dict[str, float] | None = None) -> tuple[float, ...]:
        """The coefficients, each factor so many standard deviations off its median."""
        off = deviates or {}
        return tuple(
            sum(
                amount * math.exp(self.spreads[factor] * off.get(factor, 0.0))
                for factor, amount in part.items()
            )
            for part in self.parts
        )

    def spread(self, place: int) -> float:
        """Standard deviation of the logarithm of a coefficient, by its largest part."""
        part = self.parts[place]
        return self.spreads[max(part, key=lambda factor: part[factor])] if part else 1.0


def prior_of(place: Placement) -> Prior | str:
    """The prior of a placement's step times, or which fact is missing for one."""
    if place.draft_tokens:
        return "how many draft tokens are accepted"
    habits = HABITS.get(place.device.device_class, _OTHER)
    bandwidth = _rate(place.achieved_bandwidth, place.device.memory_bandwidth, habits.bandwidth)
    compute = _rate(place.achieved_compute, place.peak, habits.compute)
    title = place.device.title
    if bandwidth is None:
        return f"the memory bandwidth of {title}"
    if compute is None:
        return f"the arithmetic rate of {title} for {place.weights.name}"
    message = _communication(place)
    if message is None:
        return f"all-reduce times between {place.k} devices"
    work = work_of(place)
    weights_s, growth_s = _weights_s(place, bandwidth.value)
    constant = {"bandwidth": weights_s, "step": habits.step_s[1], "link": message[0]}
    parts: dict[str, dict[str, float]] = {
        "constant": constant,
        "per_sequence": {
            "sequence": habits.sequence_s[1],
            "bandwidth": growth_s,
            "link": message[1],
        },
        "per_kv": {"bandwidth": 1 / bandwidth.value},
        "prefill": constant,
        "per_flop": {
            "compute": 1 / compute.value,
            "link": message[1] / _flops_per_token(work),
        },
    }
    return Prior(
        parts=tuple(parts[name] for name in COEFFICIENTS),
        spreads={
            "bandwidth": bandwidth.spread,
            "compute": compute.spread,
            "step": _spread(habits.step_s),
            "sequence": _spread(habits.sequence_s),
            "link": math.log(2) / _P90,
        },
        rests_on=(bandwidth.words("bandwidth"), compute.words("arithmetic")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rate:
    value: float
    spread: float
    origin: str

    def words(self, what: str) -> str:
        return f"{what}: {self.origin}"


def _rate(achieved: Quantity | None, peak: Quantity | None, usual: Range) -> _Rate | None:
    """A rate with the spread of its logarithm; None where neither rate is known."""
    if achieved is not None and achieved.value:
        is_measured = achieved.basis is Basis.MEASUREMENT
        return _Rate(
            value=achieved.value,
            spread=_spread(_MEASURED if is_measured else usual),
            origin=f"{achieved} ({achieved.basis.value})",
        )
    if peak is None or not peak.value:
        return None
    low, median, high = (f"{share:.0%}" for share in usual)
    return _Rate(
        value=peak.value * usual[1],
        spread=_spread(usual),
        origin=f"{median} ({low} to {high}) of a peak of {peak}",
    )


def _spread(usual: Range) -> float:
    return math.log(usual[2] / usual[0]) / (2 * _P90)


def _weights_s(place: Placement, bandwidth: float) -> tuple[float, float]:
    """Seconds of reading weights for one sequence, and for each further one (experts)."""
    most = max(2, min(throughput_batch(place), _BATCH))
    one, many = (
        place.arithmetic.assumed_weights_read(place.weights, batch) / place.k / bandwidth
        for batch in (1, most)
    )
    least = place.sums.weights_read / bandwidth
    if not place.arithmetic.routed:
        return least, 0.0  # all of them but the table from which inputs are gathered
    return one, max(0.0, many - one) / (most - 1)


def _communication(place: Placement) -> tuple[float, float] | None:
    """Seconds of a step's all-reduces, whatever their size and per token; None unknown."""
    if place.k == 1:
        return 0.0, 0.0
    if place.link is None:
        return None
    one, two = (
        assumed_communication_s(place.arithmetic, place.link, place.k, tokens)
        for tokens in (1, 2)
    )
    if one is None or two is None:
        return None
    return max(0.0, 2 * one - two), two - one


def _flops_per_token(work: Work) -> float:
    return max(work.flops_per_token, 1.0)
