"""What a person reads of the server: whether it is one, and how long requests waited in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from catalog.quantity import Basis, format_value
from flows.console import Console

_NO_EVIDENCE: Final = (
    "The rehearsal engine answered: its times are settings, so nothing below is evidence of "
    "any runtime or hardware."
)


def show_basis(console: Console, document: Mapping[str, Any]) -> None:
    """Say so where the rehearsal engine has answered; nothing where a server has."""
    if document["basis"] == Basis.SIMULATION.value:
        console.heading("SIMULATION")
        console.paragraphs([_NO_EVIDENCE])


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
