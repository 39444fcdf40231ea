"""How long a candidate's answers take, from low to high: assumptions, and said to be.

What bounds them is known: how many prompts and questions there are, how many are in flight,
and after how many tokens an answer is cut off. How long a token takes lies between the gate's
bound and the contract's limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from catalog.fixed_prompts import LEAST, text_prompts
from flows.budget import times
from flows.budget.times import Range
from flows.quality.reference import is_elsewhere, reference_of
from reports.run.plan_file import AgreementFacts, CandidateFacts, RunPlan

_TOKEN_S: Final = 0.1  # of a stream, where the contract limits none
_SHORTEST_ANSWER: Final = 8  # tokens; an answer may end by itself, the first 8 are forced
_LETTER: Final = 8  # tokens at which a letter that is written is cut off
_TEXT: Final = 256  # tokens at which the harness cuts off any other answer
_CHOICES: Final = 4  # requests of a token each, where a letter is told by its likelihood
_HARNESS_S: Final = (5.0, 120.0)  # its imports and its index; data sets from the hub


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of measuring quality: how long it takes, how many output tokens are written."""

    what: str
    time: Range
    tokens: Range = field(default_factory=Range)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task's questions, fewest and most, and whether letters answer them.

    ``parts``: tasks that it is a group of; ``samples`` are taken of each.
    """

    questions: Range
    is_letter: bool = False
    parts: int = 1

    def sampled(self, samples: int | None) -> Task:
        """The same with so many questions of each part (None: all)."""
        if samples is None:
            return self
        most, every = samples * self.parts, self.questions
        return replace(self, questions=Range(min(every.low, most), min(every.high, most)))


_KNOWN: Final = {
    "mmlu": Task(questions=Range(14_042, 14_042), is_letter=True, parts=57),
    "gsm8k": Task(questions=Range(1_319, 1_319)),
}
_UNKNOWN: Final = Task(questions=Range(1_000, 14_000))  # about as GSM8K has, about as MMLU


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What everybody is asked, with so many requests in flight."""

    prompts: int
    answer_tokens: int
    tasks: tuple[Task, ...]
    streams: int


def asked_of(plan: RunPlan, own: Mapping[str, Task]) -> Asked:
    """What a plan's contract asks of everybody; ``own`` are tasks that have been counted."""
    wanted = plan.contract.quality
    agreement = (wanted.agreement if wanted is not None else None) or AgreementFacts()
    is_dummy = any(each.is_dummy for each in plan.candidates if each.measured)
    streams = [each.concurrency or 1 for each in plan.matrix.load_points]
    return Asked(
        prompts=LEAST if is_dummy else len(text_prompts().prompts),
        answer_tokens=agreement.answer_tokens,
        tasks=tasks_of(plan, own),
        streams=plan.contract.concurrency or max(streams),
    )


def tasks_of(plan: RunPlan, own: Mapping[str, Task]) -> tuple[Task, ...]:
    """The tasks of a plan's contract; ``own`` are those that have been counted."""
    wanted = plan.contract.quality
    if wanted is None:
        return ()
    known = {**_KNOWN, **own}
    return tuple(known.get(name, _UNKNOWN).sampled(wanted.samples) for name in wanted.tasks)


def quality_steps(plan: RunPlan, candidate: CandidateFacts, asked: Asked) -> Iterator[Step]:
    """What a candidate's server is asked once it is there, part by part.

    The reference's answers may be kept from an earlier run. An endpoint that is the reference
    is asked while the first candidate is.
    """
    name, is_first = candidate.name, candidate == _first(plan)
    if is_first and is_elsewhere(plan):
        for each in _parts(plan, None, asked, passes=2):
            yield Step(what=f"quality of the reference's endpoint, {each.what}", time=each.time)
    is_reference = name == reference_of(plan)
    for each in _parts(plan, candidate, asked, passes=2 if is_reference else 1):
        is_kept = is_reference and candidate.kind == "launch"
        yield Step(
            what=f"{name}: quality, {each.what}",
            time=Range(0.0 if is_kept else each.time.low, each.time.high),
            tokens=each.tokens,
        )


def _first(plan: RunPlan) -> CandidateFacts:
    return next(each for each in plan.candidates if each.measured)


def _parts(
    plan: RunPlan, candidate: CandidateFacts | None, asked: Asked, *, passes: int
) -> Iterator[Step]:
    """The fixed set, answered freely and with forced beginnings, and the tasks."""
    token = _token(plan, candidate)
    ttft_ms = plan.contract.slo.ttft_ms
    first_s = token.high if ttft_ms is None else ttft_ms / 1e3

    def longest_s(tokens: int) -> float:
        return first_s + (tokens - 1) * token.high

    def together(count: Range, least_s: float, most_s: float) -> Range:
        high = count.high / asked.streams
        return Range(count.low / asked.streams * least_s, max(1.0, high) * most_s)

    prompts = Range(asked.prompts, asked.prompts) * passes
    twice = ", twice" if passes > 1 else ""
    yield Step(
        what=f"{asked.prompts} prompts{twice}",
        time=together(
            prompts,
            (_SHORTEST_ANSWER + 1) * token.low,
            longest_s(asked.answer_tokens) + longest_s(1),
        ),
        tokens=Range(
            prompts.low * (_SHORTEST_ANSWER + 1), prompts.high * (asked.answer_tokens + 1)
        ),
    )
    if not asked.tasks:
        return
    time, tokens = Range.of(_HARNESS_S), Range()
    for each in asked.tasks:
        most_s, most = longest_s(_TEXT), _TEXT
        if each.is_letter:
            most_s, most = max(_CHOICES * longest_s(1), longest_s(_LETTER)), _LETTER
        time += together(each.questions, token.low, most_s)
        tokens += Range(each.questions.low, each.questions.high * most)
    count = times.added(each.questions for each in asked.tasks)
    yield Step(what=_span(count), time=time, tokens=tokens)


def _token(plan: RunPlan, candidate: CandidateFacts | None) -> Range:
    """A token of one stream, in s: from the gate's bound to the contract's limit."""
    limit_ms = plan.contract.slo.itl_ms
    slow = _TOKEN_S if limit_ms is None else limit_ms / 1e3
    bound_ms = None if candidate is None else candidate.bound_itl_ms
    fast = slow * times.BESIDE_LIMITS if bound_ms is None else bound_ms / 1e3
    return Range(min(fast, slow), max(fast, slow))


def _span(count: Range) -> str:
    few, many = f"{count.low:,.0f}", f"{count.high:,.0f}"
    if few != many:
        return f"{few} to {many} questions"
    return f"{many} question" if many == "1" else f"{many} questions"
