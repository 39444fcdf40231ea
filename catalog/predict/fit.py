"""Coefficients from a prior and from measured cells, with what is uncertain about them.

Non-negative least squares of relative errors. The prior enters as one equation per
coefficient, as sure as its spread: with few cells it says what they cannot, with many it does
not count. Uncertainty comes from solving again with the prior drawn from its spread and the
cells moved by how much they disagree; each solution is one draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from catalog.predict.observe import QUANTILES, Rows
from catalog.predict.prior import Prior
from catalog.predict.steps import COEFFICIENTS, StepTimes
from catalog.predict.work import Floor, Work

Reals = NDArray[np.float64]
DRAWS: Final = 24
_LEAST: Final = 0.02  # relative error of an equation at least: launches differ by that much
_ALONE: Final = 0.05  # of one cell, where nothing says how much cells differ
_PRIOR_JITTER: Final = 0.05  # of single steps, where no gap was seen
_PRIOR_STREAMS: Final = 1.0
_MOST: Final = 1.5  # of the logarithm of a single factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Step times: the best ones, and draws of what they may be.

    ``spread`` is how much cells differ from the model (standard deviation of the logarithm;
    None: there are none), ``streams`` the most that any cell had in flight, ``cells`` how many
    cells it was fitted to. Equally likely factors: ``jitter`` of single gaps, ``first`` of
    steps that compute prompts, ``decode`` of a request's whole decoding.
    """

    best: StepTimes
    draws: tuple[StepTimes, ...]
    spread: float | None
    streams: float
    jitter: tuple[float, ...]
    first: tuple[float, ...]
    decode: tuple[float, ...]
    cells: int
    has_prior: bool


def fitted(
    cells: Sequence[Rows],
    prior: Prior | None,
    *,
    work: Work,
    floor: Floor,
    draws: int = DRAWS,
    seed: int = 0,
) -> Fitted:
    """Step times of a candidate from whatever is there.

    Raises
    ------
    ValueError
        Where there is neither a cell nor a prior: nothing is known then.
    """
    if not cells and prior is None:
        raise ValueError("neither a cell nor a prior: step times are unknown")
    rng = np.random.default_rng(seed)
    problem = _Problem.of(cells, prior)
    best = problem.solved(np.ones(len(cells)), prior.centre() if prior is not None else ())
    spread = problem.spread(best) if cells else None
    found = []
    for _ in range(draws):
        factors = np.exp((spread or 0.0) * rng.standard_normal(len(cells)))
        off = dict(
            zip(
                prior.spreads if prior is not None else (),
                rng.standard_normal(len(prior.spreads) if prior is not None else 0),
                strict=True,
            )
        )
        centre = prior.centre(off) if prior is not None else ()
        launch = math.exp((spread or 0.0) * rng.standard_normal())
        found.append(_times(problem.solved(factors, centre) * launch, work, floor))
    return Fitted(
        best=_times(best, work, floor),
        draws=tuple(found),
        spread=spread,
        streams=max((each.streams for each in cells), default=_PRIOR_STREAMS),
        jitter=_jitter(cells),
        first=_factors(cells, best, is_first=True),
        decode=_factors(cells, best, is_first=False),
        cells=len(cells),
        has_prior=prior is not None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """All equations, each divided by what it says and by how sure it is."""

    x: Reals
    y: Reals
    sigma: Reals
    cell: NDArray[np.intp]
    strengths: Reals

    @classmethod
    def of(cls, cells: Sequence[Rows], prior: Prior | None) -> _Problem:
        width = len(COEFFICIENTS)
        x = np.concatenate([each.x for each in cells] or [np.empty((0, width))])
        y = np.concatenate([each.y for each in cells] or [np.empty(0)])
        first = np.concatenate([each.is_first for each in cells] or [np.empty(0, dtype=bool)])
        sizes = [len(each.y) for each in cells]
        strengths = np.array(
            [1 / prior.spread(place) for place in range(width)] if prior is not None else []
        )
        plain = cls(
            x=x,
            y=y,
            sigma=np.full(len(y), _ALONE),
            cell=np.repeat(np.arange(len(cells)), sizes),
            strengths=strengths,
        )
        return plain._weighted(first, prior) if len(y) else plain

    def _weighted(self, first: NDArray[np.bool_], prior: Prior | None) -> _Problem:
        """The same with each kind of equation as sure as its residuals show it to be."""
        centre = prior.centre() if prior is not None else ()
        error = self._errors(self.solved(np.ones(int(self.cell[-1]) + 1), centre))
        sigma = np.empty(len(self.y))
        for kind in (first, ~first):
            if kind.any():
                sigma[kind] = max(_LEAST, float(np.sqrt(np.mean(np.square(error[kind])))))
        return _Problem(
            x=self.x, y=self.y, sigma=sigma, cell=self.cell, strengths=self.strengths
        )

    def solved(self, factors: Reals, centre: Sequence[float]) -> Reals:
        """Coefficients where each cell took so many times as long as it did."""
        from scipy.optimize import nnls  # noqa: PLC0415 - a paper vote needs no statistics

        scale = 1 / (self.y * self.sigma)
        x = self.x * scale[:, None]
        y = factors[self.cell] / self.sigma
        if len(centre):
            middle = np.array(centre)
            known = middle > 0
            rows = np.diag(np.where(known, self.strengths / np.where(known, middle, 1.0), 0.0))
            x = np.concatenate((x, rows))
            y = np.concatenate((y, np.where(known, self.strengths, 0.0)))
        norms = np.linalg.norm(x, axis=0)
        norms[norms == 0] = 1.0
        found, _ = nnls(x / norms, y, maxiter=200)
        return np.asarray(found / norms, dtype=np.float64)

    def _errors(self, coefficients: Reals) -> Reals:
        model = self.x @ coefficients
        return np.log(np.maximum(model, 1e-12) / self.y)

    def spread(self, coefficients: Reals) -> float:
        """How much cells differ from the model: of one cell alone an assumption."""
        model = np.bincount(self.cell, weights=self.x @ coefficients)
        seen = np.bincount(self.cell, weights=self.y)
        off = np.log(np.maximum(model, 1e-12) / seen)
        if len(off) < 2:
            return _ALONE
        return max(_LEAST, float(np.sqrt(np.sum(np.square(off)) / (len(off) - 1))))


def _times(coefficients: Reals, work: Work, floor: Floor) -> StepTimes:
    named = dict(zip(COEFFICIENTS, coefficients.tolist(), strict=True))
    return StepTimes(**named, work=work, floor=floor)


def _factors(cells: Sequence[Rows], best: Reals, *, is_first: bool) -> tuple[float, ...]:
    """Factors of single requests about the model; means of several spread less than these."""
    found = []
    for each in cells:
        chosen = each.is_first == is_first
        model = each.x[chosen] @ best
        off = np.log(each.y[chosen] / np.maximum(model, 1e-12))
        found.append(np.clip((off - np.mean(off)) * np.sqrt(each.size[chosen]), -_MOST, _MOST))
    every = np.concatenate(found) if found else np.empty(0)
    if len(every) < len(QUANTILES):
        return (1.0,)
    spread = np.exp(np.quantile(every, QUANTILES))
    return tuple((spread / np.mean(spread)).tolist())


def _jitter(cells: Sequence[Rows]) -> tuple[float, ...]:
    seen = [each.jitter for each in cells if len(each.jitter) > 1]
    if not seen:
        deviates = (-1.64, -0.84, -0.39, 0.0, 0.39, 0.84, 1.64)
        return tuple(math.exp(_PRIOR_JITTER * each) for each in deviates)
    return tuple(np.mean(np.array(seen), axis=0).tolist())
