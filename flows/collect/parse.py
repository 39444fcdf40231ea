"""Which reader understands a page."""

from __future__ import annotations

from deploy_templates.plan import Metrics
from flows.collect.iterations import read_iterations
from flows.collect.page import Page
from flows.collect.prometheus import read_prometheus
from flows.collect.reading import Reading


def read(page: Page, metrics: Metrics) -> Reading | None:
    """The page's quantities under the names of its release; None if it cannot be read."""
    if metrics.dialect == "iterations":
        return read_iterations(page, metrics)
    return read_prometheus(page, metrics)
