"""The four questions of a paper vote, answered with the screen's own numbers.

Does it fit? How long is a step? How long is a prefill? What is chosen, and why must it
still be measured?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catalog.quantity import significant
from catalog.screen import Screen
from catalog.verdict import GateResult, Status, Verdict, shown
from reports.paper_tables import WORDS
from reports.phrases import lesson_figures, names, percent, plain
from reports.words import choice, elimination, load_points, not_passed, rates_word


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question and its answer, a sentence each."""

    question: str
    sentences: tuple[str, ...]


def four_answers(screen: Screen) -> tuple[Answer, ...]:
    """The answers in the order of the gates."""
    return (
        Answer(
            question="Does every candidate hold the model and its streams?",
            sentences=_per_gate(screen, "memory"),
        ),
        Answer(
            question="How much does a decode step move, and how long must it take?",
            sentences=_per_gate(screen, "bandwidth"),
        ),
        Answer(
            question="How long must the prompt's arithmetic take?",
            sentences=_per_gate(screen, "compute"),
        ),
        Answer(
            question="Which candidate is chosen, and why must it be load tested?",
            sentences=(*choice(screen), *_eliminations(screen), *why_measure(screen)),
        ),
    )


def why_measure(screen: Screen) -> tuple[str, ...]:
    """Why a load test stays mandatory, from the numbers of the choice."""
    chosen = screen.primary or min(screen.survivors, key=_doubt, default=None)
    if chosen is None:
        return (
            "Nothing is left to measure: no load test can beat a bound.",
            "A load test becomes mandatory as soon as the contract or the list changes.",
        )
    return tuple(_why_measure(screen, chosen))


def _doubt(candidate: Verdict) -> int:
    """How far a survivor's verdict is from a pass."""
    return (Status.PASS, Status.UNLIKELY, Status.UNKNOWN).index(candidate.verdict)


def _eliminations(screen: Screen) -> tuple[str, ...]:
    return tuple(elimination(candidate) for candidate in not_passed(screen))


def _per_gate(screen: Screen, gate: str) -> tuple[str, ...]:
    lines = [_line(candidate, candidate.gate(gate)) for candidate in screen.candidates]
    rejected = _with_status(screen, gate, Status.REJECT)
    doubtful = _with_status(screen, gate, Status.UNLIKELY)
    summary = f"Rejected by the {gate} bound: {rejected or 'none'}"
    if doubtful:
        summary += f"; unlikely by assumption: {doubtful}"
    return (*lines, summary + ".")


def _with_status(screen: Screen, gate: str, status: Status) -> str:
    return names([c.name for c in screen.candidates if c.gate(gate).status is status])


def _line(candidate: Verdict, gate: GateResult) -> str:
    if gate.bound is None:
        return f"{candidate.name}: {gate.reason}."
    text = f"{candidate.name}: {_moved(gate)}at least {plain(gate.bound)}"
    if gate.limit is not None:
        text += f" of {plain(gate.limit)}"
    if gate.lesson:
        text += f"; the lesson's rule: {lesson_figures(gate)}"
    margin = f", margin {percent(gate.margin)}" if gate.margin is not None else ""
    return f"{text}: {WORDS[gate.status]}{margin}."


def _moved(gate: GateResult) -> str:
    moved = next((e.quantity for e in gate.inputs if e.name == "step_bytes"), None)
    return "" if moved is None else f"{shown(moved, 'GB')} per step and device, "


def _why_measure(screen: Screen, chosen: Verdict) -> Iterator[str]:
    yield (
        "A bound proves what is impossible. That a candidate is within its bounds proves "
        "nothing: no formula here contains queueing, scheduling, kernel launches, or a long "
        "prompt that interrupts the streams which are decoding."
    )
    step, prefill = chosen.gate("bandwidth"), chosen.gate("compute")
    if step.limit is not None and step.bound is not None:
        left = step.limit.value - (step.assumption or step.bound).value
        yield (
            f"All of that must fit into the {significant(max(left, 0))} ms per token that "
            f"{chosen.name} has left by the {rates_word(chosen)} rates."
        )
    if prefill.limit is not None and prefill.bound is not None:
        each = (prefill.assumption or prefill.bound).value
        fit = int(prefill.limit.value // each)
        yield (
            f"Requests arrive in bursts: prompts that are computed one after another use up "
            f"the {plain(prefill.limit)} to the first token after {fit:,} of them."
        )
    yield from load_points(chosen)
    if screen.contract.goodput is not None:
        yield (
            f"The contract asks that {plain(screen.contract.goodput)} of requests keep every "
            "limit. That is a count of requests, and none has been sent yet."
        )
