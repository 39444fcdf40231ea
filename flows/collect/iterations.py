"""A JSON list of what happened in each engine step since it was last read.

Reading uses it up, so that no second reader may be at work; an idle engine shows an empty
list, and so does one that was not told to count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deploy_templates.plan import Metrics
from flows.collect.page import Page
from flows.collect.reading import Reading

_STEP = "iter"


def read_iterations(page: Page, metrics: Metrics) -> Reading | None:
    """Gauges and counters of the last step, amounts of all; None if it is not such a list."""
    try:
        found: Any = json.loads(page.body)
    except ValueError:
        return None
    if not isinstance(found, list) or not all(isinstance(step, dict) for step in found):
        return None
    return Reading(
        asked_ns=page.asked_ns,
        answered_ns=page.answered_ns,
        gauges=_last(found, metrics, "gauge"),
        counters=_last(found, metrics, "counter"),
        amounts=_added(found, metrics),
        parts=_last(found, metrics, "counter"),
        steps=_steps(found),
    )


def _last(steps: list[dict[str, Any]], metrics: Metrics, kind: str) -> dict[str, float]:
    if not steps:
        return {}
    values = {
        name: number_at(steps[-1], series.name)
        for name, series in metrics.series.items()
        if series.kind == kind
    }
    scales = {name: series.scale for name, series in metrics.series.items()}
    return {name: value * scales[name] for name, value in values.items() if value is not None}


def _added(steps: list[dict[str, Any]], metrics: Metrics) -> dict[str, float]:
    sums: dict[str, float] = {}
    if not steps:
        return sums
    for name, series in metrics.series.items():
        if series.kind == "amount":
            values = [number_at(step, series.name) for step in steps]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                sums[name] = sum(known) * series.scale
    return sums


def _steps(steps: list[dict[str, Any]]) -> tuple[int, int] | None:
    numbers = [step[_STEP] for step in steps if isinstance(step.get(_STEP), int)]
    return (numbers[0], numbers[-1]) if numbers else None


def number_at(found: Mapping[str, Any], key: str) -> float | None:
    """The number under a dotted key; None if there is none."""
    value: Any = found
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
