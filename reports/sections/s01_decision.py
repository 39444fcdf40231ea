"""The decision as a record: what was chosen and why, what would flip it, who signed."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from reports.break_even import break_evens, sentence
from reports.contract_words import stated
from reports.decide.held import holds
from reports.figures.series import measured_candidates
from reports.idle import idle_words
from reports.metric_names import metric_name, statistic_name
from reports.number_words import (
    DASH,
    launches,
    number_phrase,
    p_words,
    ratio_phrase,
    stacked_cell,
    unit_words,
)
from reports.report import Report
from reports.run.decision_file import Comparison, Flip, Ranked
from reports.run.number import Number
from reports.run.summary_file import CellSummary
from reports.signing import signoff_rows, waiver_lines
from reports.tables import Cell, Column, Table
from reports.validity import events

TITLE = "Decision"
_DECIDING = (
    Column(title="Figure that decides"),
    Column(title="Middle (limits)", right=True),
    Column(title="Unit"),
    Column(title="Rests on"),
)
_EMPTY = Cell(text="")
_TO_SIGN = 2  # who decides, and who has read it
_SAME = 0.01  # loads that differ by less are one
_SIGNOFF = tuple(
    Column(title=title) for title in ("Role", "Name", "Date", "Statement", "Manifest, SHA-256")
)


def section(report: Report) -> dict[str, Any]:
    """The decision in the form of an architecture decision record."""
    decision = report.decision
    chosen = _chosen(report)
    return {
        "outcome": decision.outcome,
        "chosen": decision.chosen,
        "because": tuple(statistic_name(line) for line in decision.because),
        "deciding": deciding_table(report, chosen) if chosen else None,
        "gap": gap_sentence(decision.gap) if decision.gap else None,
        "runner_up": decision.runner_up,
        "flips": tuple(flip_lines(report)),
        "crossover": number_phrase(decision.crossover) if decision.crossover else None,
        "break_even": tuple(break_even_lines(report)),
        "consequences": tuple(_consequences(report, chosen)),
        "confirmation": tuple(_confirmation(report)),
        "again": events(report.plan, report.decision),
        "rule": decision.rule,
        "blockers": decision.blockers,
        "signoff": signoff_table(report),
        "to_sign": blank_table(report),
        "waivers": waiver_lines(report),
        "manifest": report.manifest,
        "stamp": report.stamp,
    }


def deciding_table(report: Report, chosen: Ranked) -> Table:
    """The three figures that decide, of the candidate that was chosen."""
    rows = [_held_row(report, chosen)]
    rows.append(_row("Cost of 1M compliant output tokens", chosen.usd_per_1m, "no price"))
    cell = report.decision_cell(chosen.name)
    goodput = cell.clauses.get("goodput") if cell is not None else None
    number = goodput.number if goodput is not None else None
    rows.append(_row("Goodput", number, "not judged"))
    return Table(title="The figures that decide", columns=_DECIDING, rows=tuple(rows))


def signoff_table(report: Report) -> Table | None:
    """Who has approved it; None as long as nobody has."""
    rows = signoff_rows(report)
    return Table(title="Sign-off", columns=_SIGNOFF, rows=rows) if rows else None


def blank_table(report: Report) -> Table | None:
    """Rows to be filled on paper, with what is approved; None for what cannot be signed.

    None too where somebody has signed: then who did is told.
    """
    decision = report.decision
    if report.signoff is not None or decision.stamp != "MEASURED" or decision.blockers:
        return None
    row = (_EMPTY, _EMPTY, _EMPTY, _EMPTY, Cell(text=report.manifest))
    return Table(title="To be signed", columns=_SIGNOFF, rows=(row,) * _TO_SIGN)


def gap_sentence(gap: Comparison) -> str:
    """How far the runner-up is, with its interval and the word that the test allows."""
    adjusted = "" if gap.p_adjusted is None else f" (p adjusted {p_words(gap.p_adjusted)})"
    return (
        f"{gap.candidate} against {gap.against}, {metric_name(gap.metric)}: "
        f"{gap.word}{adjusted}. The ratio is {ratio_phrase(gap.ratio)}. "
        f"Differences within ±{gap.margin * 100:g}% do not count."
    )


def flip_lines(report: Report) -> Iterator[str]:
    """What would change the decision, but for break-even loads, which have their own lines."""
    own = [found.rate_per_s for found in break_evens(report)]
    for flip in report.decision.flips:
        if not any(rate is not None and _is_at(flip, rate) for rate in own):
            yield statistic_name(flip.sentence.strip())


def break_even_lines(report: Report) -> Iterator[str]:
    """Where an endpoint priced by token meets hardware priced by hour."""
    held = {
        each.name: each.held_rate.highest_proven
        for each in report.decision.ranking
        if each.held_rate is not None
    }
    for found in break_evens(report):
        yield sentence(found, held.get(found.hardware))


def _is_at(flip: Flip, rate: float) -> bool:
    at = flip.flips_at.value if flip.flips_at is not None else None
    return flip.what == "load" and at is not None and abs(at / rate - 1) < _SAME


def _chosen(report: Report) -> Ranked | None:
    name = report.decision.winner  # of a tie it is whom the rule names
    return next((each for each in report.decision.ranking if each.name == name), None)


def _held_row(report: Report, chosen: Ranked) -> tuple[Cell, ...]:
    bracket = chosen.held_rate
    if bracket is None or bracket.highest_proven is None:
        return _streams_row(report, chosen)
    missed = bracket.lowest_disproven
    was_searched = chosen.name in report.searches
    return (
        Cell(text="Highest rate that holds the contract"),
        Cell(
            text=f"≥ {stated(bracket.highest_proven)}",
            detail="no rate is disproven" if missed is None else f"misses at {stated(missed)}",
        ),
        Cell(text="requests/s"),
        Cell(
            text="launches that the search did not use"
            if was_searched
            else "the campaign's load points"
        ),
    )


def _streams_row(report: Report, chosen: Ranked) -> tuple[Cell, ...]:
    """The most streams at which every clause holds, where no rate was proven.

    As with rates, a level above one that misses proves nothing.
    """
    name = Cell(text="Most streams that hold the contract")
    measured = next(each for each in measured_candidates(report) if each.name == chosen.name)
    levels = [(each.level or 0.0, each.cell) for each in measured.levels(is_open=False)]
    missed = min((level for level, cell in levels if _misses(cell)), default=inf)
    contract = report.plan.contract
    held = [level for level, cell in levels if level < missed and holds(cell, contract)]
    if not held:
        why = "no load but the contract's own is proven"
        return name, Cell(text=DASH, meaning="none", detail=why), _EMPTY, _EMPTY
    above = [level for level, _ in levels if level > max(held)]
    return (
        name,
        Cell(
            text=f"≥ {max(held):g}",
            detail=f"not proven at {min(above):g}" if above else "no higher level was measured",
        ),
        Cell(text="streams in flight"),
        Cell(text="the campaign's load points; no rate was proven"),
    )


def _misses(cell: CellSummary) -> bool:
    return any(clause.verdict == "misses" for clause in cell.clauses.values())


def _row(name: str, number: Number | None, why: str) -> tuple[Cell, ...]:
    unit = unit_words(number.unit) if number is not None else ""
    return (
        Cell(text=name),
        stacked_cell(number, why, common=number.basis if number is not None else None),
        Cell(text=unit),
        Cell(text=_rests_on(number)),
    )


def _rests_on(number: Number | None) -> str:
    if number is None:
        return ""
    parts = [
        f"{number.n:,} requests" if number.n is not None else "",
        launches(number.runs) if number.runs is not None else "",
        number.basis.value,
    ]
    return ", ".join(part for part in parts if part)


def _consequences(report: Report, chosen: Ranked | None) -> Iterator[str]:
    if chosen is None:
        yield "Nothing is deployed on the strength of this run."
        return
    facts = report.facts(chosen.name)
    if facts is not None and facts.kind == "launch":
        engine = " ".join(part for part in (facts.runtime, facts.version) if part)
        where = f"{facts.device_count}× {facts.device}" if facts.device else facts.host
        yield f"Deployed is exactly what was measured: {engine} on {where}."
    elif facts is not None:
        yield f"{chosen.name} stays a service of others: what runs there can change unseen."
    if chosen.instances is not None:
        cost = number_phrase(chosen.monthly_usd, "no price")
        yield f"{chosen.instances} instances carry the stated demand, at {cost} a month."
    if (idle := idle_words(report, chosen)) is not None:
        yield idle
    for reason in chosen.unsignable:
        yield f"It cannot be signed: {reason}."


def _confirmation(report: Report) -> Iterator[str]:
    slo = report.plan.contract.slo
    watched = []
    if report.decision.winner is None:
        yield "Nothing is chosen, so there is nothing to confirm."
        return
    if slo.ttft_ms is not None:
        watched.append(f"p{slo.percentile:g} TTFT above {slo.ttft_ms:,g} ms")
    if slo.itl_ms is not None:
        watched.append(f"p{slo.percentile:g} ITL above {slo.itl_ms:,g} ms")
    if watched:
        yield f"In production, alarm on {' and on '.join(watched)} over a day's requests."
    if report.stamp in ("REHEARSAL", "ESTIMATE"):
        yield "Before anything is bought: run the same campaign on the hardware itself."
    elif report.stamp == "EXPLORATORY":
        yield "Before anything is signed: run the campaign at its full length."
