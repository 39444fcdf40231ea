"""The paper verdict as one HTML page and as Markdown, from a screen and its catalog."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from catalog.entries import OURS, Catalog, Kind
from catalog.errors import CatalogError
from catalog.quantity import Quantity
from catalog.schema import Device
from catalog.screen import Screen
from catalog.verdict import Status, Verdict
from reports.calibration_tables import STAYS_ASSUMPTION, side_by_side
from reports.fact_words import fact_lines, open_lines
from reports.four_questions import four_answers, why_measure
from reports.html import html_page, markdown_page
from reports.lines import Line
from reports.paper_tables import MEANING, gate_cell, verdict_table
from reports.phrases import decisive_basis, gate_name, layout, tagged
from reports.table_one import headings, table_one
from reports.words import (
    choice,
    contract_sentence,
    elimination,
    elimination_counts,
    not_passed,
    totals,
)

STAMP = "ESTIMATE"
_COLUMNS = 6
_COUNTS = ("streams", "engines", "devices", "tokens", "all-reduces")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """All that a page is made from; the same values give the same bytes.

    ``digest`` is the SHA-256 of the catalog's files and ``date`` the day on which prices
    were judged. ``listed`` are the rows of the ranking; where every offer stands, the page
    speaks of the first six one by one.
    """

    question: str | None
    screen: Screen
    listed: tuple[Line, ...]
    catalog: Catalog
    digest: str
    date: dt.date
    version: str

    @property
    def shown(self) -> tuple[Verdict, ...]:
        """Candidates with a column of their own."""
        lines = self.listed[:_COLUMNS] if self.screen.all_offers else self.listed
        return tuple(line.first for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fact:
    """A figure that a gate used, and where it was read."""

    subject: str
    name: str
    value: str
    basis: str
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A catalog entry that the screen used, and whose it is."""

    kind: str
    name: str
    origin: str


def paper_html(paper: Paper) -> str:
    """The paper verdict as a single page without scripts or references."""
    return html_page("paper.html.j2", _context(paper))


def paper_markdown(paper: Paper) -> str:
    """The same content as Markdown."""
    return markdown_page("paper.md.j2", _context(paper))


def _context(paper: Paper) -> dict[str, object]:
    screen, shown = paper.screen, paper.shown
    part = Screen(name=screen.name, contract=screen.contract, candidates=shown)
    return {
        "stamp": STAMP,
        "name": screen.name,
        "question": paper.question or f"Which candidate keeps the contract {screen.name}?",
        "date": paper.date.isoformat(),
        "digest": paper.digest,
        "version": paper.version,
        "contract": contract_sentence(screen.contract),
        "headline": choice(screen)[0],
        "choice": choice(screen),
        "has_choice": screen.primary is not None,
        "counts": totals(screen),
        "ranking": verdict_table(paper.listed) if screen.all_offers else None,
        "left_out": len(screen.candidates) - sum(len(line.candidates) for line in paper.listed),
        "stopped": elimination_counts(screen) if screen.all_offers else (),
        "candidates": headings(part),
        "rows": table_one(part, _devices(paper)),
        "meaning": {status.value: MEANING[status] for status in Status},
        "gates": _gates(shown),
        "eliminations": [(c.name, c.verdict.value, elimination(c)) for c in not_passed(part)],
        "layouts": {c.name: layout(c) for c in shown},
        "explanations": _explanations(shown),
        "answers": four_answers(part),
        "open_lines": open_lines(shown),
        "why_measure": why_measure(screen),
        "facts": sorted(set(_facts(shown))),
        "stays_assumption": STAYS_ASSUMPTION,
        "calibrated": side_by_side(part),
        "fact_notes": fact_lines(shown),
        "entries": _entries(paper),
    }


def _gates(shown: tuple[Verdict, ...]) -> list[tuple[str, list[object]]]:
    """Per gate its name and one cell per candidate, with the basis of the margin."""
    if not shown:
        return []
    return [
        (
            gate_name(gate.gate),
            [(gate_cell(c.gate(gate.gate)), _basis(c, gate.gate)) for c in shown],
        )
        for gate in shown[0].gates
    ]


def _basis(candidate: Verdict, gate: str) -> str:
    basis = decisive_basis(candidate.gate(gate))
    return "" if basis is None else basis.value


def _explanations(shown: tuple[Verdict, ...]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Per candidate, for each gate: its title, its formula, the same with its numbers."""
    return [
        (
            candidate.name,
            [
                (gate_name(g.gate), g.formula, g.explanation)
                for g in candidate.gates
                if g.status is not Status.NOT_APPLICABLE
            ],
        )
        for candidate in shown
    ]


def _facts(shown: tuple[Verdict, ...]) -> Iterator[Fact]:
    """Figures that were read somewhere; what was derived from them is in the formulas."""
    for candidate in shown:
        for gate in candidate.gates:
            for entry in gate.inputs:
                if _was_read(entry.quantity):
                    yield _fact(candidate, entry.name, entry.quantity)


def _was_read(quantity: Quantity) -> bool:
    source = quantity.source
    return bool(source) and not source.startswith("derived") and quantity.unit not in _COUNTS


def _fact(candidate: Verdict, name: str, quantity: Quantity) -> Fact:
    return Fact(
        subject=candidate.device_title or candidate.name,
        name=name.replace("_", " "),
        value=tagged(quantity),
        basis=quantity.basis.value,
        source=quantity.source,
        date=quantity.date.isoformat() if quantity.date else "–",
    )


def _devices(paper: Paper) -> Mapping[str, Device]:
    names = {candidate.device for candidate in paper.shown if candidate.device}
    return {name: paper.catalog.device(name) for name in sorted(names)}


def _entries(paper: Paper) -> list[Entry]:
    """Catalog entries in use, theirs before ours."""
    wanted: set[tuple[Kind, str]] = set()
    for candidate in paper.shown:
        if candidate.device:
            wanted.add(("device", candidate.device))
        if candidate.offer:
            wanted.add(("offer", candidate.offer))
    model = _model_entry(paper)
    found = [_entry(paper, kind, name) for kind, name in sorted(wanted)]
    return sorted([*model, *found], key=lambda e: (e.origin == "ours", e.kind, e.name))


def _model_entry(paper: Paper) -> list[Entry]:
    try:
        model = paper.catalog.model(paper.screen.contract.model)
    except CatalogError:
        return []
    return [_entry(paper, "model", model.name)]


def _entry(paper: Paper, kind: Kind, name: str) -> Entry:
    origin = paper.catalog.origin(kind, name)
    return Entry(kind=kind, name=name, origin="ours" if origin == OURS else f"yours: {origin}")
