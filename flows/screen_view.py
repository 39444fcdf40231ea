"""The paper vote as a person reads it in a terminal or in a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from catalog.screen import Screen
from catalog.verdict import GateResult, Status, Verdict
from flows.console import Console
from reports.calibration_tables import STAYS_ASSUMPTION, side_by_side, still_open
from reports.errata import errata
from reports.fact_words import fact_lines, open_lines
from reports.lines import Line, best, needing_proof
from reports.paper_tables import WORDS, gate_matrix, gate_table, verdict_table
from reports.phrases import LEGEND, gate_title, lesson_figures, percent
from reports.words import (
    choice,
    contract_sentence,
    elimination,
    elimination_counts,
    load_points,
    not_passed,
    totals,
)


def show_screen(console: Console, question: str | None, screen: Screen, limit: int) -> None:
    """Tables, then one sentence per elimination, the choice, what stays open, the facts."""
    listed = best(screen, limit)
    spoken = _candidates(listed)
    console.heading(f"{screen.name}: {question}" if question else screen.name)
    console.paragraphs([contract_sentence(screen.contract)])
    _show_tables(console, screen, listed, limit)
    show_measured(console, screen)
    _show_part(console, "Not passed", _eliminations(screen))
    _show_part(console, "Choice on paper", choice(screen))
    _show_part(console, "Load points", list(_points(screen)))
    _show_part(console, "OPEN: no paper can say", open_lines(_in_question(screen)))
    _show_part(console, "Facts", fact_lines(spoken))
    _show_part(console, "ESTIMATE", [totals(screen), *_left_out(screen, spoken)])


def show_explanations(console: Console, screen: Screen, limit: int) -> None:
    """Each gate of each shown candidate: formula, the same with its numbers, the rules."""
    for line in best(screen, limit):
        console.heading(f"Why: {line.name}")
        for gate in line.first.gates:
            console.paragraphs(_explanation(line.first, gate))
        console.paragraphs(dict.fromkeys(g.rule for g in line.first.gates if g.rule))


def _show_tables(console: Console, screen: Screen, listed: Sequence[Line], limit: int) -> None:
    if listed:
        console.table(verdict_table(listed))
        console.table(gate_matrix(listed) if screen.all_offers else gate_table(screen))
        console.paragraphs([LEGEND])
    apart = needing_proof(screen, limit)
    if apart:
        console.table(verdict_table(apart, "Needs quality proof: cannot be chosen before it"))


def show_measured(console: Console, screen: Screen) -> None:
    """Assumptions beside the measurements in their place, where a host was calibrated."""
    table = side_by_side(screen)
    if table is not None:
        console.table(table)
        console.paragraphs([STAYS_ASSUMPTION, *still_open(screen)])


def _eliminations(screen: Screen) -> Sequence[str]:
    """A sentence each; counts by gate where every offer stands."""
    if screen.all_offers:
        return elimination_counts(screen)
    return [elimination(candidate) for candidate in not_passed(screen)]


def _points(screen: Screen) -> Iterator[str]:
    for candidate in _in_question(screen):
        yield from load_points(candidate)


def _in_question(screen: Screen) -> Sequence[Verdict]:
    """A campaign's survivors; the choice alone where every offer stands."""
    if screen.all_offers and screen.primary is not None:
        return [screen.primary]
    return screen.survivors


def _candidates(lines: Sequence[Line]) -> Sequence[Verdict]:
    return [candidate for line in lines for candidate in line.candidates]


def _left_out(screen: Screen, spoken: Sequence[Verdict]) -> Iterator[str]:
    if len(spoken) < len(screen.candidates):
        yield "Only the best are shown; --limit 0 shows all."


def _show_part(console: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        console.heading(title)
        console.paragraphs(lines)


def _explanation(candidate: Verdict, gate: GateResult) -> Iterator[str]:
    margin = f", margin {percent(gate.margin)}" if gate.margin is not None else ""
    reason = gate.reason.removeprefix("unknown: ")
    yield f"{gate_title(gate.gate)}: {WORDS[gate.status]}{margin}; {reason}".rstrip("; ")
    if gate.status is Status.NOT_APPLICABLE:
        return
    if gate.formula:
        yield f"  {gate.formula}"
    for line in gate.explanation.removesuffix(gate.rule).splitlines():
        yield f"  {line}"
    if gate.lesson:
        yield f"  lesson: {lesson_figures(gate)}"
    for section in errata(candidate, gate):
        yield f"  see {section}"
