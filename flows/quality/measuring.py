"""One server's answers and scores, and the record of a candidate beside a reference."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from catalog.fixed_prompts import PromptSet
from flows.errors import InfrastructureError, UsageError
from flows.quality.agreeing import candidate_answers, reference_answers
from flows.quality.answering import Server, UnansweredError, fitted
from flows.quality.harness import Scored, Tasks, scores
from reports.quality.tables import (
    Answer,
    Sample,
    answers_bytes,
    answers_name,
    samples_bytes,
    samples_name,
)
from reports.quality.verdict import assessed
from reports.run.plan_file import AgreementFacts, QualityFacts
from reports.run.quality_file import QualityFile, ReferenceFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is asked of every server alike.

    ``streams`` prompts are in flight at a time. ``look`` is called in between, and may raise;
    ``said`` is told what goes on.
    """

    asked: QualityFacts
    prompts: PromptSet
    answer_tokens: int
    streams: int
    tasks: Tasks
    environment: Mapping[str, str]
    look: Callable[[], None]
    said: Callable[[str], None]

    @property
    def limits(self) -> AgreementFacts:
        """Those of the contract, or what stands for them where it states none."""
        return self.asked.agreement or AgreementFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a server gave: its answers on the fixed set, its scores, what it could not."""

    answers: tuple[Answer, ...] = ()
    scored: tuple[Scored, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The reference with what it gave."""

    facts: ReferenceFacts
    given: Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A candidate's record with its tables, by the names of their files."""

    file: QualityFile
    tables: Mapping[str, bytes] = field(default_factory=dict)


def given_by_reference(server: Server, setup: Setup) -> Given:
    """The reference's answers, twice, and its scores."""

    def ask(asked: Server) -> tuple[Answer, ...]:
        return reference_answers(
            asked,
            setup.prompts.prompts,
            answer_tokens=setup.answer_tokens,
            streams=setup.streams,
            look=setup.look,
        )

    return _given(server, setup, ask)


def given_by_candidate(server: Server, setup: Setup, reference: Reference) -> Given:
    """A candidate's answers, and its scores."""

    def ask(asked: Server) -> tuple[Answer, ...]:
        return candidate_answers(
            asked,
            setup.prompts.prompts,
            reference.given.answers,
            answer_tokens=setup.answer_tokens,
            streams=setup.streams,
            look=setup.look,
        )

    return _given(server, setup, ask)


def given_as_candidate(reference: Given) -> Given:
    """The reference as a candidate of its own: its second answers stand for another's."""
    again = (
        replace(each, who="candidate") for each in reference.answers if each.who == "again"
    )
    return replace(reference, answers=tuple(again))


def record(
    name: str,
    setup: Setup,
    reference: Reference,
    found: Given,
    *,
    is_dummy: bool,
    is_reference: bool = False,
    launch: str | None = None,
    started_at: str = "",
    ended_at: str = "",
) -> Record:
    """The record of a candidate with its verdict."""
    answers = (*reference.given.answers, *found.answers) if found.answers else ()
    samples = tuple(_samples(reference.given.scored, found.scored))
    tables = {}
    if answers:
        tables[answers_name(name)] = answers_bytes(answers)
    if samples:
        tables[samples_name(name)] = samples_bytes(samples)
    file = QualityFile(
        candidate=name,
        reference=reference.facts,
        is_reference=is_reference,
        is_dummy=is_dummy,
        prompts=setup.prompts.name,
        prompts_sha256=setup.prompts.sha256,
        concurrency=setup.streams,
        answer_tokens=setup.answer_tokens,
        launch=launch,
        started_at=started_at,
        ended_at=ended_at,
        files={file: hashlib.sha256(content).hexdigest() for file, content in tables.items()},
        left_out=_left_out(reference.given, found, is_reference=is_reference),
        harness={each.task: dict(each.reported) for each in found.scored if each.reported},
    )
    return Record(file=assessed(file, answers, samples, setup.asked), tables=tables)


def _given(server: Server, setup: Setup, ask: Callable[[Server], tuple[Answer, ...]]) -> Given:
    left_out: list[str] = []
    answers: tuple[Answer, ...] = ()
    setup.said(f"{len(setup.prompts.prompts)} prompts")
    try:
        answers = ask(fitted(server, setup.prompts.prompts[0]))
    except UnansweredError as error:
        left_out.append(f"answers on the fixed set: {error.seen}")
    scored: tuple[Scored, ...] = ()
    if setup.tasks.names:
        setup.said(f"tasks {', '.join(setup.tasks.names)}")
        try:
            scored = scores(
                server,
                setup.tasks,
                streams=setup.streams,
                environment=setup.environment,
                look=setup.look,
            )
        except (InfrastructureError, UsageError) as error:
            left_out.append(f"tasks: {error.seen}")
        left_out += [f"{each.task}: {each.refused}" for each in scored if each.refused]
    return Given(answers=answers, scored=scored, left_out=tuple(left_out))


def _left_out(reference: Given, found: Given, *, is_reference: bool) -> tuple[str, ...]:
    if is_reference:
        return found.left_out
    return (*(f"reference, {each}" for each in reference.left_out), *found.left_out)


def _samples(theirs: Sequence[Scored], ours: Sequence[Scored]) -> Iterator[Sample]:
    """The questions that both were asked, task by task."""
    by_task = {each.task: each for each in theirs}
    for task in ours:
        reference = by_task.get(task.task)
        if reference is None or reference.kind != task.kind:
            continue
        known = {each.question: each for each in reference.rows}
        for row in task.rows:
            other = known.get(row.question)
            if other is not None:
                yield Sample(
                    task=task.task,
                    kind=task.kind,
                    metric=row.metric,
                    question=row.question,
                    target=row.target,
                    reference=other.score,
                    candidate=row.score,
                    reference_answer=other.answer,
                    candidate_answer=row.answer,
                )
