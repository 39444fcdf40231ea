"""Where a server's metrics are and what its release calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.quantity import Basis
from deploy_templates.plan import LaunchPlan, Metrics
from flows.collect.known import KnownMetrics
from flows.collect.page import Page
from flows.collect.parse import read
from flows.collect.reading import Reading

SIMULATED = "x-runoff-rehearsal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The answer to a GET; header names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


Fetch = Callable[[str], Fetched | None]
"""GET of a path of the server; None where there is no answer."""

Clock = Callable[[], int]
"""Monotonic nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One server's metrics page, and the names of the release that it is read by.

    ``is_known``: the release is the one that was launched, not the one whose names fit best.
    """

    metrics: Metrics
    runtime: str
    release: str
    is_known: bool
    is_simulation: bool

    @property
    def basis(self) -> Basis:
        """What the numbers of this server are: of an engine, or of a simulated one."""
        return Basis.SIMULATION if self.is_simulation else Basis.MEASUREMENT

    def to_json(self) -> dict[str, Any]:
        """Runtime and release, how they are known, and where the page is, as JSON values."""
        return {
            "runtime": self.runtime,
            "release": self.release,
            "release_from": "launch plan" if self.is_known else "names that fit the page best",
            "path": self.metrics.path,
            "dialect": self.metrics.dialect,
            "basis": self.basis.value,
        }

    def page(self, fetch: Fetch, clock: Clock) -> Page | None:
        """The page as it is now, cut down to what is read; None if it cannot be had."""
        asked_ns = clock()
        found = fetch(self.metrics.path)
        if found is None or found.status != 200:
            return None
        page = Page(asked_ns=asked_ns, answered_ns=clock(), body=found.body)
        return page.kept(self.metrics)

    def reading(self, page: Page) -> Reading | None:
        """The page's quantities; None if it is not what it should be."""
        return read(page, self.metrics)


def launched_source(plan: LaunchPlan) -> Source | None:
    """The source of a server that was started as planned; None: its release has no metrics."""
    if plan.metrics is None:
        return None
    return Source(
        metrics=plan.metrics,
        runtime=plan.runtime,
        release=plan.version,
        is_known=True,
        is_simulation=plan.simulation,
    )


def find_source(fetch: Fetch, known: Sequence[KnownMetrics]) -> Source | None:
    """The source of a server that somebody else started: the release whose names fit best.

    Text pages are preferred to lists that reading uses up. None: no metrics that we know.
    """
    for dialect in ("prometheus", "iterations"):
        rivals = [one for one in known if one.metrics.dialect == dialect]
        for path in dict.fromkeys(one.metrics.path for one in rivals):
            found = fetch(path)
            if found is None:
                return None
            if found.status == 200:
                source = _best(found, [one for one in rivals if one.metrics.path == path])
                if source is not None:
                    return source
    return None


def _best(found: Fetched, rivals: Iterable[KnownMetrics]) -> Source | None:
    """The release with most names on the page, of equals the one with fewest others."""
    page = Page(asked_ns=0, answered_ns=0, body=found.body)
    shown = [(_shown(page.kept(one.metrics), one.metrics), one) for one in rivals]
    scored = [((names, -len(one.metrics.series)), one) for names, one in shown if names]
    if not scored:
        return None
    _, best = max(scored, key=lambda pair: pair[0])
    return Source(
        metrics=best.metrics,
        runtime=best.runtime,
        release=best.release,
        is_known=False,
        is_simulation=SIMULATED in found.headers,
    )


def _shown(page: Page, metrics: Metrics) -> int:
    """How many of the release's names are on the page; a list of steps counts as one."""
    reading = read(page, metrics)
    if reading is None or metrics.dialect == "iterations":
        return int(reading is not None)
    return len({*reading.gauges, *reading.counters, *reading.histograms})
