"""What limits a candidate: seen in its numbers, told in texts that are data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from reports.cell.problems import causes
from reports.decide.contender import Contender
from reports.decide.production import own_cells
from reports.number_words import amount
from reports.run.decision_file import Limiter
from reports.run.summary_file import CellSummary

_KV_FULL: Final = 0.95
_WAITS: Final = 0.5  # of TTFT: then the queue, not the prefill, is what takes the time
_CLOSE: Final = 0.5  # of the limit: below, nothing is said to limit

Found = tuple[str, str]


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """What each limit means, what to do and how to verify it."""
    text = files("reports.decide").joinpath("limiters.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(text)
    return found


def limiter_of(each: Contender) -> Limiter | None:
    """Return what limits a measured candidate; None where nothing was measured.

    Asked of the cell at the contract's load; where that complies, of the lightest one that
    misses, if there is one.
    """
    if each.cell is None or each.summary is None:
        return None
    missing = [cell for cell in own_cells(each.summary) if _misses(cell)]
    cell = each.cell
    if each.complies and missing:
        cell = min(missing, key=_load)
    what, measured = next(_reasons(cell), ("nothing seen", _closest(cell)))
    return Limiter.model_validate({"what": what, "measured": measured, **texts()[what]})


def _misses(cell: CellSummary) -> bool:
    return any(clause.verdict == "misses" for clause in cell.clauses.values())


def _load(cell: CellSummary) -> float:
    point = cell.point
    if point is None:
        return float("inf")
    return point.rate_per_s or point.concurrency or float("inf")


def _reasons(cell: CellSummary) -> Iterator[Found]:
    if cell.verdict == "client-bound":
        why = ", ".join(causes(cell.verdict, cell.problems))
        yield "client", f"at {cell.load_point}: {why}"
    if cell.verdict == "cap-bound":
        yield "cap", f"at {cell.load_point} requests waited for the client's cap"
    kv, preemptions = _value(cell, "kv_use_max"), _value(cell, "preemptions")
    if kv is not None and (kv >= _KV_FULL or preemptions):
        also = f", {preemptions:g} preemptions" if preemptions else ""
        yield "kv memory", f"at {cell.load_point} the KV cache was {kv:.0%} full{also}"
    ttft, itl = _used(cell, "ttft"), _used(cell, "itl")
    if ttft is not None and ttft > max(itl or 0.0, _CLOSE):
        yield _first_token(cell)
    if itl is not None and itl > _CLOSE:
        yield "itl", f"at {cell.load_point}: {_clause(cell, 'itl')}"


def _first_token(cell: CellSummary) -> Found:
    """TTFT: of it waiting in the server's queue, or work."""
    queue, ttft = _value(cell, "server_queue_time_p95_ms"), _value(cell, "ttft_p95_ms")
    words = f"at {cell.load_point}: {_clause(cell, 'ttft')}"
    if queue is not None:
        words += f", p95 wait in the server {amount(queue, 'ms')}"
    if queue is not None and ttft is not None and queue > _WAITS * ttft:
        return "saturation", words
    return "ttft", words


def _used(cell: CellSummary, name: str) -> float | None:
    """Share of its limit that a latency takes; infinite among the failures."""
    clause = cell.clauses.get(name)
    if clause is None or clause.limit is None:
        return None
    if clause.number.value is None:
        return float("inf") if clause.verdict == "misses" else None
    return clause.number.value / clause.limit


def _clause(cell: CellSummary, name: str) -> str:
    clause = cell.clauses[name]
    seen = (
        "among the failures"
        if clause.number.value is None
        else amount(clause.number.value, "ms")
    )
    return f"{clause.statistic} {seen} of {amount(clause.limit, 'ms')}"


def _closest(cell: CellSummary) -> str:
    stated = [name for name in ("ttft", "itl") if _used(cell, name) is not None]
    return "; ".join(_clause(cell, name) for name in stated) or "the contract sets no limit"


def _value(cell: CellSummary, name: str) -> Any:
    number = cell.measures.get(name)
    return None if number is None else number.value
