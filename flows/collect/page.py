"""One reading of a metrics page, unparsed, and when it was taken."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deploy_templates.plan import Metrics
from flows.collect.exposition import lines_named

STARTED = "process_start_time_seconds"  # prometheus_client shows it of its own process


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A metrics page's bytes, asked for and answered at these monotonic nanoseconds."""

    asked_ns: int
    answered_ns: int
    body: bytes

    def kept(self, metrics: Metrics) -> Page:
        """The page without what is not read of it."""
        if metrics.dialect != "prometheus":
            return self
        names = [series.name for series in metrics.series.values()]
        return replace(self, body=lines_named(self.body, [*names, STARTED]))
