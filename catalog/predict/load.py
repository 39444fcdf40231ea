"""The load that a prediction is for: arrivals and lengths, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from catalog.lengths import Lengths

Process = Literal["closed", "poisson", "constant", "gamma"]
_TABLE = 512  # quantiles from which lengths are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One level of load on one engine.

    ``streams`` are those of a closed loop, ``cap`` the most in flight of an open one (None:
    no cap). ``requests`` are measured after ``warm_up`` others. ``burstiness`` is the shape
    of gamma arrivals.
    """

    process: Process
    requests: int
    warm_up: int = 0
    streams: int = 1
    rate_per_s: float | None = None
    cap: int | None = None
    burstiness: float = 1.0

    @property
    def count(self) -> int:
        """All requests, warm-up included."""
        return self.requests + self.warm_up

    @property
    def most_in_flight(self) -> int | None:
        """Requests that may be in flight at once; None: any number."""
        return self.streams if self.process == "closed" else self.cap


@dataclass(frozen=True, slots=True)
class Drawn:
    """Requests of one drawn cell: due times in seconds (all 0 in a closed loop), lengths."""

    due_s: list[float]
    prompts: list[int]
    outputs: list[int]


def drawn(load: Load, prompt: Lengths, output: Lengths, seed: int) -> Drawn:
    """One cell's requests; the same seed gives the same ones."""
    rng = np.random.default_rng(seed)
    return Drawn(
        due_s=_due(load, rng).tolist(),
        prompts=_lengths(prompt, load.count, rng).tolist(),
        outputs=_lengths(output, load.count, rng).tolist(),
    )


def _due(load: Load, rng: np.random.Generator) -> NDArray[np.float64]:
    rate, count = load.rate_per_s, load.count
    if load.process == "closed" or rate is None:
        return np.zeros(count)
    if load.process == "constant":
        return np.arange(1, count + 1) / rate
    shape = load.burstiness if load.process == "gamma" else 1.0
    gaps: NDArray[np.float64] = rng.gamma(shape, 1 / (rate * shape), count)
    return np.cumsum(gaps)


def _lengths(lengths: Lengths, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    if lengths.kind == "fixed":
        return np.full(count, lengths.maximum, dtype=np.int64)
    table = np.array([lengths.quantile((i + 0.5) / _TABLE) for i in range(_TABLE)])
    return table[rng.integers(0, _TABLE, count)]
