"""Why not the others: each candidate's case, in words made from its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.quantity import significant
from catalog.verdict import Status
from reports.metric_names import metric_name, statistic_name
from reports.number_words import amount, number_phrase
from reports.report import Report
from reports.run.decision_file import Comparison, Ranked
from reports.run.number import Number
from reports.run.summary_file import CellSummary, ClauseSummary
from reports.words import elimination


def defence(report: Report) -> tuple[str, ...]:
    """The choice and then every other candidate, a sentence or two each."""
    chosen = report.decision.chosen
    lines = [_choice(report, each) for each in report.places if each.name == chosen]
    others = (_against(report, each) for each in report.places if each.name != chosen)
    return (*lines, *others, *_why_measured(report))


def _choice(report: Report, chosen: Ranked) -> str:
    cell = report.decision_cell(chosen.name)
    held = "; ".join(_clause(each) for each in _judged(cell)) if cell is not None else ""
    text = f"{chosen.name} is chosen: {held or chosen.why}"
    if chosen.usd_per_1m is not None:
        cost = number_phrase(chosen.usd_per_1m, "no price")
        text += f". Compliant output tokens cost {cost}"
    return _ended(text)


def _against(report: Report, other: Ranked) -> str:
    if other.standing == "voted out on paper":
        return _on_paper(report, other)
    cell = report.decision_cell(other.name)
    if cell is None:
        return _ended(f"{other.name} is {other.standing}: {other.why}")
    failed = [each for each in _judged(cell) if each.verdict != "holds"]
    if failed:
        return _ended(f"{other.name}: {'; '.join(_clause(each) for each in failed)}")
    return _ended(f"{other.name} {_second(report, other)}")


def _on_paper(report: Report, other: Ranked) -> str:
    verdicts = report.screen.candidates if report.screen is not None else ()
    found = next((each for each in verdicts if each.name == other.name), None)
    if found is None or found.verdict is Status.PASS:
        return _ended(f"{other.name} was voted out on paper: {other.why}")
    return f"{elimination(found)} It was not measured and cost nothing."


def _judged(cell: CellSummary) -> tuple[ClauseSummary, ...]:
    return tuple(each for each in cell.clauses.values() if each.verdict != "no such clause")


def _clause(clause: ClauseSummary) -> str:
    relation = "≥" if clause.name in ("goodput", "throughput") else "≤"
    needed = amount(clause.limit, clause.number.unit)
    word = {"holds": "holds", "misses": "misses", "inconclusive": "is not proven"}
    verdict = word.get(clause.verdict, clause.verdict)
    seen = f"{_seen(clause.number)} against {relation} {needed}"
    return f"{statistic_name(clause.statistic)} {verdict}: {seen}"


def _seen(number: Number) -> str:
    """The value and the limit that decided, without what it rests on."""
    middle = amount(number.value, number.unit)
    if number.low is not None and number.high is not None:
        low, high = amount(number.low, number.unit), amount(number.high, number.unit)
        return f"{middle} ({low} to {high})"
    if number.high is not None:
        return f"{middle} (at most {amount(number.high, number.unit)})"
    if number.low is not None:
        return f"{middle} (at least {amount(number.low, number.unit)})"
    return middle


def _second(report: Report, other: Ranked) -> str:
    """A candidate that keeps the contract and was not chosen: by how much it falls behind."""
    parts: list[str] = [
        "keeps the contract" if other.standing == "complies" else other.standing
    ]
    compared = [
        each
        for each in report.decision.comparisons
        if other.name in (each.candidate, each.against)
        and report.decision.chosen in (each.candidate, each.against)
    ]
    parts.extend(_compared(each, other.name) for each in compared[:3])
    if not compared and other.why:
        parts.append(other.why)
    return "; ".join(parts)


def _compared(found: Comparison, name: str) -> str:
    metric = metric_name(found.metric)
    ratio = found.ratio
    if ratio.value is None:
        return f"{metric}: {found.word}"
    value = ratio.value if found.candidate == name else 1 / ratio.value
    limits = [each for each in (ratio.low, ratio.high) if each]
    if found.candidate != name:
        limits = sorted(1 / each for each in limits)
    span = (
        f" ({significant(limits[0])} to {significant(limits[1])})" if len(limits) == 2 else ""
    )
    against = found.against if found.candidate == name else found.candidate
    word = "" if found.word != "no difference shown" else ": no difference shown"
    return f"{metric} {significant(value)} times that of {against}{span}{word}"


def _why_measured(report: Report) -> Iterator[str]:
    """Why a load test was needed: what the paper promised and what came."""
    chosen = report.decision.chosen
    facts = report.facts(chosen) if chosen else None
    cell = report.decision_cell(chosen) if chosen else None
    if facts is None or cell is None:
        return
    for name, bound in (("ttft", facts.bound_ttft_ms), ("itl", facts.bound_itl_ms)):
        clause = cell.clauses.get(name)
        seen = clause.number.value if clause is not None else None
        if clause is not None and bound is not None and seen is not None and bound > 0:
            yield (
                f"The paper bounds {name.upper()} of {facts.name} from below by "
                f"{amount(bound, 'ms')}; measured was {amount(seen, 'ms')}, "
                f"{significant(seen / bound, 2)} times as much. No bound could have told that."
            )


def _ended(text: str) -> str:
    return text.rstrip(".") + "."
