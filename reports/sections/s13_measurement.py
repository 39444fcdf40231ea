"""How well it was measured: every request accounted for, the load as asked, the client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catalog.quantity import significant
from reports.figures import timeline
from reports.figures.gathered import gathered
from reports.number_words import DASH, digits, launches
from reports.report import Report
from reports.run.summary_file import CellSummary, ReplicationSummary
from reports.tables import Cell, Column, Meaning, Table

TITLE = "Measurement quality"
_SILENT = Cell(text=DASH, meaning="none", detail="not reported")
_REQUESTS = (
    Column(title="Cell"),
    Column(title="Planned", right=True),
    Column(title="Sent", right=True),
    Column(title="Answered", right=True),
    Column(title="Failed", right=True),
    Column(title="Warm-up", unit="excluded", right=True),
    Column(title="Drain", unit="excluded", right=True),
    Column(title="Measured", right=True),
    Column(title="Sums"),
)
_LOAD = (
    Column(title="Cell"),
    Column(title="Window", unit="s", right=True),
    Column(title="Offered", unit="requests/s", right=True),
    Column(title="Achieved", unit="requests/s", right=True),
    Column(title="In flight", unit="mean / peak", right=True),
    Column(title="Send lag p99", unit="ms", right=True),
    Column(title="Loop lag p99", unit="ms", right=True),
    Column(title="Client", unit="% of a core", right=True),
    Column(title="Round trip", unit="ms", right=True),
    Column(title="Answers off length", unit="%", right=True),
    Column(title="Verdict"),
)
_BAD = ("failed", "truncated", "timed_out", "cancelled")


def section(report: Report) -> dict[str, Any]:
    """The account of every cell over its replications."""
    cells = [(c.name, cell) for c in report.summary.candidates for cell in c.cells]
    return {
        **gathered(report, timeline),
        "requests": _table("Requests", _REQUESTS, map(_requests, cells)),
        "load": _table("Load and client", _LOAD, map(_load, cells)),
        "problems": tuple(_problems(cells)),
        "sums": _sums_sentence([cell for _, cell in cells]),
    }


def adds_up(counts: Mapping[str, int]) -> bool:
    """Whether every request is accounted for once, by outcome and by phase."""
    sent = counts.get("ok", 0) + sum(counts.get(name, 0) for name in _BAD)
    phases = sum(counts.get(name, 0) for name in ("warmup", "measured", "drain"))
    planned = counts.get("planned", 0)
    return (
        planned == counts.get("sent", 0) + counts.get("not_sent", 0)
        and counts.get("sent", 0) == sent
        and planned == phases
    )


def _table(title: str, columns: tuple[Column, ...], rows: Any) -> Table:
    return Table(title=title, columns=columns, rows=tuple(rows))


def _name(of: tuple[str, CellSummary]) -> Cell:
    name, cell = of
    return Cell(text=f"{name}, {cell.load_point}", detail=launches(len(cell.replications)))


def _requests(of: tuple[str, CellSummary]) -> tuple[Cell, ...]:
    counts = of[1].requests
    bad = sum(counts.get(name, 0) for name in _BAD)
    reasons = ", ".join(
        f"{counts[name]:,} {name.replace('_', ' ')}" for name in _BAD if counts.get(name)
    )
    whole = adds_up(counts)
    return (
        _name(of),
        *(_count(counts, name) for name in ("planned", "sent", "ok")),
        Cell(text=f"{bad:,}", meaning="warn" if bad else "", detail=reasons),
        *(_count(counts, name) for name in ("warmup", "drain", "measured")),
        Cell(
            text="✓ add up" if whole else "✗ do not add up", meaning="pass" if whole else "fail"
        ),
    )


def _count(counts: Mapping[str, int], name: str) -> Cell:
    return Cell(text=f"{counts[name]:,}") if name in counts else _SILENT


def _load(of: tuple[str, CellSummary]) -> tuple[Cell, ...]:
    cell = of[1]
    meaning: Meaning = "pass" if cell.verdict == "valid" else "warn"
    get = _Seen(cell.replications)
    return (
        _name(of),
        get.span("window_s"),
        get.span("offered_rate"),
        get.span("achieved_rate"),
        _flight(get),
        get.most("client", "send_lag_ms_p99"),
        get.most("client", "loop_lag_ms_p99"),
        get.most("client", "cpu_share", scale=100),
        get.most("client", "rtt_ms_p50"),
        get.most("lengths", "output", "missed_share", scale=100),
        Cell(text=cell.verdict, meaning=meaning, detail=_worst(cell)),
    )


def _flight(get: _Seen) -> Cell:
    mean, peak = get.values("in_flight", "mean"), get.values("in_flight", "peak")
    if not mean or not peak:
        return _SILENT
    return Cell(text=f"{significant(sum(mean) / len(mean))} / {max(peak):,.0f}")


def _worst(cell: CellSummary) -> str:
    found = {each.verdict for each in cell.replications} - {"valid"}
    return ", ".join(sorted(found - {cell.verdict}))


def _problems(cells: list[tuple[str, CellSummary]]) -> Iterator[str]:
    for name, cell in cells:
        if cell.problems:
            yield f"{name}, {cell.load_point}: {'; '.join(cell.problems)}."
        if cell.lockstep:
            yield (
                f"{name}, {cell.load_point}: answers ended in lockstep; its percentiles "
                "move in steps."
            )


def _sums_sentence(cells: list[CellSummary]) -> str:
    whole = sum(1 for cell in cells if adds_up(cell.requests))
    total = sum(cell.requests.get("planned", 0) for cell in cells)
    return (
        f"{total:,} requests. In {whole} of {len(cells)} cells every request is accounted for "
        "once: planned = sent + not sent, sent = answered + failed, and "
        "warm-up + measured + drain = planned."
    )


class _Seen:
    """Figures of the same name in every replication's document."""

    def __init__(self, replications: tuple[ReplicationSummary, ...]) -> None:
        self._documents = [each.document for each in replications]

    def values(self, *path: str) -> list[float]:
        """Every number under the path."""
        found = []
        for document in self._documents:
            each: Any = document
            for name in path:
                each = each.get(name) if isinstance(each, Mapping) else None
            if isinstance(each, int | float):
                found.append(float(each))
        return found

    def span(self, *path: str) -> Cell:
        """Least to most over the replications."""
        found = self.values(*path)
        if not found:
            return _SILENT
        low, high = digits(min(found)), digits(max(found))
        return Cell(text=low if low == high else f"{low} to {high}")

    def most(self, *path: str, scale: float = 1.0) -> Cell:
        """The worst of the replications."""
        found = self.values(*path)
        return Cell(text=digits(max(found) * scale)) if found else _SILENT
