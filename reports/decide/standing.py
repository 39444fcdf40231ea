"""Where each candidate stands against the contract: every clause apart, valid cells alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from reports.cell.problems import causes
from reports.decide.contender import Contender
from reports.decide.held import NO_EVIDENCE, held_bracket, held_cell
from reports.decide.metric import currency_of
from reports.decide.production import own_cells, repetition
from reports.number_words import amount
from reports.run.checks_file import Checks
from reports.run.decision_file import Standing
from reports.run.plan_file import CandidateFacts, ContractFacts, RunPlan
from reports.run.summary_file import CandidateSummary, CellSummary, ClauseVerdict, Summary

_BEST_FIRST: Final[tuple[Standing, ...]] = (
    "complies",
    "needs quality proof",
    "inconclusive",
    "no valid evidence",
    "misses",
    "not measured",
)

_CEILING_CURRENCY: Final = "USD"  # the ceiling's own; amounts are never converted

Stood = tuple[Standing, str]


def contenders(plan: RunPlan, summary: Summary, checks: Checks) -> tuple[Contender, ...]:
    """Return every candidate of the plan with its standing, in the plan's order."""
    return tuple(
        _contender(plan, facts, summary.candidate(facts.name), checks)
        for facts in plan.candidates
    )


def _contender(
    plan: RunPlan, facts: CandidateFacts, found: CandidateSummary | None, checks: Checks
) -> Contender:
    if not facts.measured or found is None:
        standing, why = _unmeasured(facts)
        return Contender(facts=facts, summary=found, cell=None, standing=standing, why=why)
    failed = frozenset(each.replication for each in found.launches if each.state != "ready")
    cells = _deciding(plan, found)
    if not cells:
        standing, why = _without_cell(found)
        return Contender(
            facts=facts, summary=found, cell=None, standing=standing, why=why, failed=failed
        )
    judged = [(*_stands(plan.contract, facts, found, cell, checks), cell) for cell in cells]
    standing, why, cell = _best(judged, is_family=plan.matrix.decision_point is None, plan=plan)
    bracket = held_bracket(found, plan.contract)
    return Contender(
        facts=facts,
        summary=found,
        cell=cell,
        standing=standing,
        why=why,
        clauses=clauses_of(cell, facts, plan.contract, repetition(found, cell) or cell),
        held=bracket,
        held_cell=held_cell(found, bracket),
        failed=failed,
    )


def _unmeasured(facts: CandidateFacts) -> Stood:
    why = facts.skipped or facts.reason or "it was not measured"
    return ("voted out on paper" if facts.verdict == "reject" else "not measured"), why


def _deciding(plan: RunPlan, found: CandidateSummary) -> list[CellSummary]:
    """The cell of the contract's load; for offline work every closed level."""
    if plan.matrix.decision_point is not None:
        cell = found.cell(plan.matrix.decision_point)
        return [] if cell is None else [cell]
    own = own_cells(found)
    return [cell for cell in own if cell.point is None or not cell.point.is_open]


def _without_cell(found: CandidateSummary) -> Stood:
    down = [launch for launch in found.launches if launch.state != "ready"]
    if down and len(down) == len(found.launches):
        reason = next((launch.error for launch in down if launch.error), "")
        words = f"none of {len(down)} launches came up"
        return "failed", f"{words}: {reason}" if reason else words
    return "not measured", "the cell of the contract's load was not measured"


def _best(
    judged: Sequence[tuple[Standing, str, CellSummary]], *, is_family: bool, plan: RunPlan
) -> tuple[Standing, str, CellSummary]:
    """The best standing; of a family of levels it takes all planned ones to miss."""
    ordered = sorted(
        judged, key=lambda each: (_BEST_FIRST.index(each[0]), -_tokens_per_s(each[2]))
    )
    standing, why, cell = ordered[0]
    levels = sum(not point.is_open for point in plan.matrix.load_points)
    if is_family and standing == "misses" and len(judged) < levels:
        return "inconclusive", f"{len(judged)} of {levels} levels were measured; {why}", cell
    return standing, why, cell


def _tokens_per_s(cell: CellSummary) -> float:
    number = cell.measures.get("compliant_tokens_per_s")
    return 0.0 if number is None or number.value is None else number.value


def clauses_of(
    cell: CellSummary, facts: CandidateFacts, contract: ContractFacts, paid: CellSummary
) -> dict[str, ClauseVerdict]:
    """Return the verdict of every clause of the contract at a cell, that on cost among them.

    ``paid`` is the cell whose tokens decide the cost.
    """
    found: dict[str, ClauseVerdict] = {
        name: clause.verdict for name, clause in cell.clauses.items()
    }
    ceiling = contract.cost_ceiling_usd_per_1m
    if ceiling is not None:
        found["cost"] = _cost(paid, facts, ceiling)
    return found


def _cost(cell: CellSummary, facts: CandidateFacts, ceiling: float) -> ClauseVerdict:
    number = cell.measures.get("usd_per_1m_compliant")
    if number is None or currency_of(facts) != _CEILING_CURRENCY:
        return "inconclusive"
    if number.high is not None and number.high <= ceiling:
        return "holds"
    return "misses" if number.low is not None and number.low > ceiling else "inconclusive"


def _stands(
    contract: ContractFacts,
    facts: CandidateFacts,
    found: CandidateSummary,
    cell: CellSummary,
    checks: Checks,
) -> Stood:
    """The first reason against compliance, else that it complies."""
    paid = repetition(found, cell) or cell
    clauses = clauses_of(cell, facts, contract, paid)
    held = [name for name, verdict in clauses.items() if verdict == "holds"]
    complies: Stood = (
        "complies",
        _clause_words(cell, held, paid) or "the contract sets no limit",
    )
    if reason := _void(facts, cell, checks):
        return "no valid evidence", reason
    return next(_doubts(facts, found, cell, paid, clauses), complies)


def _doubts(
    facts: CandidateFacts,
    found: CandidateSummary,
    cell: CellSummary,
    paid: CellSummary,
    clauses: Mapping[str, ClauseVerdict],
) -> Iterator[Stood]:
    """What keeps a valid cell from compliance, the gravest first."""
    missed = [name for name, verdict in clauses.items() if verdict == "misses"]
    open_ = [name for name, verdict in clauses.items() if verdict == "inconclusive"]
    quality = None if found.quality is None else found.quality.get("verdict")
    if cell.verdict == "cap-bound":
        yield "inconclusive", "requests waited for the client's cap: its limit was not seen"
    if missed:
        yield "misses", _clause_words(cell, missed, paid)
    if quality == "misses":
        why = "" if found.quality is None else found.quality.get("why")
        yield "misses", f"quality: {why or 'answers lose more than the contract allows'}"
    down = [launch for launch in found.launches if launch.state != "ready"]
    if down:
        yield "inconclusive", f"{len(down)} of {len(found.launches)} launches failed"
    if open_:
        yield "inconclusive", _clause_words(cell, open_, paid)
    if facts.parity == "needs quality proof" and quality != "holds":
        yield "needs quality proof", f"its precision is not the contract's, {_unproven(found)}"


def _unproven(found: CandidateSummary) -> str:
    """What is known of a quality that does not hold."""
    if found.quality is None:
        return "quality not measured"
    return f"quality {found.quality.get('verdict')}: {found.quality.get('why') or 'not said'}"


def _void(facts: CandidateFacts, cell: CellSummary, checks: Checks) -> str | None:
    for check in checks.checks:
        if check.id == "files-unchanged" and check.verdict == "fail":
            return f"the evidence is not as it was measured: {check.observed}"
        if (
            check.id == "contradiction"
            and check.verdict == "fail"
            and (check.candidate, check.load_point) == (facts.name, cell.load_point)
        ):
            return f"a measurement below its own bound: {check.observed}"
    reason = NO_EVIDENCE.get(cell.verdict)
    if reason is None:
        return None
    return f"{reason} ({', '.join(causes(cell.verdict, cell.problems)) or cell.verdict})"


def _clause_words(cell: CellSummary, names: Sequence[str], paid: CellSummary) -> str:
    return "; ".join(_one(cell, name, paid) for name in names)


def _one(cell: CellSummary, name: str, paid: CellSummary) -> str:
    if name == "cost":
        cost = paid.measures.get("usd_per_1m_compliant")
        if cost is None:
            return "cost unknown"
        words = f"cost {amount(cost.value, cost.unit)}"
        if cost.unit.partition("/")[0] == _CEILING_CURRENCY:
            return words
        return f"{words} (its ceiling is in {_CEILING_CURRENCY}, and nothing is converted)"
    clause = cell.clauses[name]
    number, is_floor = clause.number, name in ("goodput", "throughput")
    seen = amount(number.value, number.unit) if number.value is not None else number.note
    words = f"{clause.statistic} {seen or 'not observed'} {_verb(clause.verdict)} "
    words += f"{'≥' if is_floor else '≤'} {amount(clause.limit, number.unit)}"
    side = number.low if is_floor else number.high
    if clause.verdict == "holds" and side is not None:
        words += f" ({'at least' if is_floor else 'at most'} {amount(side, number.unit)})"
    why = clause.why if clause.verdict == "inconclusive" else ""
    return f"{words} ({why})" if why else words


def _verb(verdict: ClauseVerdict) -> str:
    return {"holds": "holds", "misses": "misses"}.get(verdict, "is not proven")
