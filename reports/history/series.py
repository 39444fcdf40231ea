"""Series of comparable runs: one metric of one candidate at one load point, in order of time.

Comparable are runs of the same campaign with the same contract (by its hash), the same
version of the method, the same kind of evidence (measured, simulated, imported; exploratory
or not) and a candidate that is the same in kind: offer, devices, parallelism, runtime and
precision. Its release, launch, driver and price may differ: that is what a history is for, and
each such change is marked.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite, log
from typing import Final

import numpy as np

from reports.history.facts import CandidateFacts, Point, RunFacts
from reports.run.number import Frozen, Real
from reports.stats.changepoint import MIN_RUNS, ChangePoint, change_points
from reports.stats.latest_step import latest_step

WATCHED: Final = ("ttft_p95_ms", "tpot_p95_ms", "output_tokens_per_s", "usd_per_1m_compliant")
LOOK_BACK: Final = 40  # the search's time grows with the square of it
ALPHA: Final = 0.05  # of both searches together
ALPHA_LATEST: Final = 0.02
COMPARABLE: Final = (
    "Comparable are runs of this campaign with the same contract (by its hash), the same "
    "version of the method, the same kind of evidence, and a candidate that is the same in "
    "kind: offer, devices, parallelism, runtime and precision. Its release, launch, driver "
    "and price may differ; where one does, the run is marked."
)


class Change(Frozen):
    """A change of level with a run: ratio of the new level to the old one, with limits.

    ``ratio`` is None where one of the levels is infinite.
    """

    path: str
    is_up: bool
    ratio: Real | None
    low: Real | None
    high: Real | None
    level: Real
    p_value: Real

    @property
    def size(self) -> float:
        """How large it is, up and down alike: the size of the ratio's logarithm."""
        return inf if self.ratio is None else abs(log(self.ratio))


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What the runs of a series have in common."""

    campaign: str
    contract: str
    method_version: int
    evidence: str
    candidate: str
    kind: str
    load_point: str
    metric: str

    @property
    def group(self) -> tuple[str, int, str]:
        """What series that may stand in one figure have in common."""
        return self.contract, self.method_version, self.evidence

    @property
    def id(self) -> str:
        """The same for the same series, whoever computes it."""
        parts = (getattr(self, name) for name in self.__slots__)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One run's point in a series, and the marked facts that changed since the one before."""

    run: RunFacts
    point: Point
    marks: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """What the search for changes takes: nothing of a cell that is no evidence."""
        if self.point.verdict != "valid":
            return None
        if self.point.is_infinite:
            return inf
        return self.point.value or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points in order of time. ``changes`` is None where too few runs can be compared."""

    key: Key
    is_watched: bool
    seen: tuple[Seen, ...]
    changes: tuple[Change, ...] | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """The finite values of valid cells."""
        found = (each.value for each in self.seen)
        return tuple(value for value in found if value is not None and value != inf)


def all_series(runs: Sequence[RunFacts]) -> tuple[Series, ...]:
    """Every series of concluded runs, in order of their keys, without changes."""
    points: dict[Key, list[tuple[RunFacts, CandidateFacts, Point]]] = defaultdict(list)
    for run in sorted(runs, key=lambda each: each.order):
        for candidate in run.candidates:
            for point in candidate.points:
                points[_key(run, candidate, point)].append((run, candidate, point))
    order = sorted(points, key=lambda key: (key.group, key.candidate, key.load_point, key.id))
    return tuple(_series(key, points[key]) for key in order)


def with_changes(series: Series) -> Series:
    """The series with the changes of its level; looked for where it is watched."""
    if not series.is_watched:
        return series
    recent = series.seen[-LOOK_BACK:]
    rng = np.random.default_rng(int(series.key.id[:16], 16))
    found = _changes([each.value for each in recent], rng)
    if found is None:
        return series
    changes = tuple(
        Change(
            path=recent[each.position].run.path,
            is_up=each.ratio > 1,
            ratio=_finite(each.ratio),
            low=_finite(each.low),
            high=_finite(each.high),
            level=each.level,
            p_value=each.p_value,
        )
        for each in found
    )
    return _with(series, changes)


def _changes(
    values: Sequence[float | None], rng: np.random.Generator
) -> list[ChangePoint] | None:
    """Every change of level, and one that is too new for the search of all."""
    found = change_points(values, rng, alpha=ALPHA - ALPHA_LATEST)
    if found is None:
        return None
    begin = found[-1].position if found else 0
    latest = latest_step(values[begin:], rng, alpha=ALPHA_LATEST)
    if latest is not None:
        found.append(dataclasses.replace(latest, position=begin + latest.position))
    return found


def with_known_changes(series: Series, known: dict[str, tuple[Change, ...]]) -> Series:
    """The series with changes that were found before, by the series' id."""
    return _with(series, known[series.key.id]) if series.key.id in known else series


def marked_changes(runs: Sequence[RunFacts]) -> Iterator[tuple[RunFacts, str, str, str, str]]:
    """Each change of a marked fact: the run, the candidate, what, from what, to what."""
    before: dict[str, CandidateFacts] = {}
    for run in sorted(runs, key=lambda each: each.order):
        for candidate in run.candidates:
            old = before.get(candidate.name)
            for what in _changed(old, candidate):
                was = old.marks.get(what, "") if old is not None else ""
                yield run, candidate.name, what, was, candidate.marks.get(what, "")
            before[candidate.name] = candidate


def too_few(series: Series) -> str:
    """Why no change was looked for."""
    valid = sum(each.value is not None for each in series.seen)
    return f"{valid} of {MIN_RUNS} comparable runs"


def _finite(ratio: float | None) -> float | None:
    return ratio if ratio and isfinite(ratio) else None


def _with(series: Series, changes: tuple[Change, ...]) -> Series:
    return Series(
        key=series.key, is_watched=series.is_watched, seen=series.seen, changes=changes
    )


def _key(run: RunFacts, candidate: CandidateFacts, point: Point) -> Key:
    return Key(
        campaign=run.campaign or "",
        contract=run.contract or "",
        method_version=run.method_version or 0,
        evidence=f"{run.evidence}{', exploratory' if run.is_exploratory else ''}",
        candidate=candidate.name,
        kind=candidate.kind,
        load_point=point.load_point,
        metric=point.metric,
    )


def _series(key: Key, points: list[tuple[RunFacts, CandidateFacts, Point]]) -> Series:
    seen = [Seen(run=points[0][0], point=points[0][2])]
    for (_, old, _), (run, new, point) in pairwise(points):
        seen.append(Seen(run=run, point=point, marks=_changed(old, new)))
    return Series(
        key=key,
        is_watched=key.metric in WATCHED and points[-1][1].decision_point == key.load_point,
        seen=tuple(seen),
    )


def _changed(old: CandidateFacts | None, new: CandidateFacts) -> tuple[str, ...]:
    if old is None or old.marks == new.marks:
        return ()
    names = sorted(old.marks.keys() | new.marks.keys())
    return tuple(name for name in names if old.marks.get(name) != new.marks.get(name))
