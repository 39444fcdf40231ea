"""What a person reads of the wait in the server: a number with how it was had, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalog.quantity import format_value
from flows.console import Console


def show_queue_time(console: Console, document: Mapping[str, Any]) -> None:
    """Print how long requests waited in the server."""
    p95 = _words(document["server_queue_time_p95"])
    mean = _words(document["server_queue_time_mean"])
    console.heading("Wait in the server")
    console.paragraphs([f"p95 {p95}", f"mean {mean}"])


def _words(figure: Mapping[str, Any]) -> str:
    if "not_available" in figure:
        series = figure["series"]
        return (
            f"{figure['not_available']} ({series})" if series else str(figure["not_available"])
        )
    return f"{_amount(figure)}, n = {figure['n']}: {figure['method']}"


def _amount(figure: Mapping[str, Any]) -> str:
    value, low, high = (figure[key] for key in ("value", "low", "high"))
    if value is not None:
        return ("about " if figure["is_estimate"] else "") + format_value(value, "s")
    if high is None:
        return f"above {format_value(low, 's')}"
    return f"from {format_value(low, 's')} to {format_value(high, 's')}"
