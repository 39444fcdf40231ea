"""The steps of a decision in words, in the order in which they were taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.decide.contender import Contender
from reports.decide.contest import Contest, Entry, judged
from reports.decide.metric import Choice
from reports.run.plan_file import RunPlan

UNDECIDED: Final = ("inconclusive", "needs quality proof", "no valid evidence")


def first_steps(everybody: Sequence[Contender], pool: Sequence[Contender]) -> list[str]:
    """Return what was settled before anything was ranked."""
    rules = []
    paper = [each for each in everybody if each.standing == "voted out on paper"]
    if paper:
        rules.append(f"A bound on paper rejects {names_of(paper)}: not measured.")
    for standing in ("failed", "not measured", "no valid evidence", "misses", *UNDECIDED[:2]):
        found = [each for each in everybody if each.standing == standing]
        if found:
            rules.append(f"Leaves as {standing}: {names_of(found)}.")
    dummies = [each for each in everybody if each.facts.is_dummy and each.cell is not None]
    if dummies:
        rules.append(f"Measured on dummy weights, which show speed alone: {names_of(dummies)}.")
    if pool:
        rules.append(f"Proven to hold every clause of the contract: {names_of(pool)}.")
    return rules


def metric_steps(choice: Choice, pool: Sequence[Contender]) -> list[str]:
    """Return what is ranked, why, and who is left out of it."""
    rules = [f"Ranked by {choice.metric.words}: {choice.why}."] if len(pool) > 1 else []
    return [*rules, *(f"{name} is not ranked: {why}." for name, why in choice.apart.items())]


def contest_steps(found: Contest, entries: dict[str, Entry], plan: RunPlan) -> list[str]:
    """Return how the contest came out, step by step."""
    if len(entries) == 1:
        return ["One candidate is left: there is nothing to compare it with."]
    rules = [f"The best of the sample is {found.best}."]
    margins = sorted(
        {
            f"{log_margin:.0%}"
            for name, entry in entries.items()
            if name != found.best
            and (log_margin := judged(entry, entries[found.best], found.metric).margin)
        }
    )
    rules.append(
        "One claim is tested: that it is better than each other one, by intervals over "
        f"launches clear of ±{' and ±'.join(margins)}."
    )
    if found.kept:
        return [*rules, f"The incumbent stays: {found.kept}."]
    if found.shown:
        return [*rules, f"Every comparison is clear: {found.best} is better."]
    rules.append(f"Not shown to be worse than {found.best}: {listed(found.tied[1:])}.")
    words = tie_words(found.winner, plan)
    rules.append(f"{words[0].upper()}{words[1:]}.")
    return rules


def tie_words(winner: str, plan: RunPlan) -> str:
    """Return whom a tie goes to, and by which rule: a choice, not a finding."""
    rule = (
        "it is the incumbent"
        if winner == plan.incumbent
        else "fewer devices, then the lower hourly price, then the name"
    )
    return f"a tie, taken by rule for {winner} ({rule})"


def names_of(found: Sequence[Contender]) -> str:
    """Return the candidates' names in a sentence."""
    return listed([each.name for each in found])


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, in an order that is not the file's."""
    ordered = sorted(names)
    return ordered[0] if len(ordered) == 1 else f"{', '.join(ordered[:-1])} and {ordered[-1]}"
