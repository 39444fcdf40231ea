"""Quality as a step of a campaign: the reference answers first, then every candidate.

Each has a launch of its own after all cells, so that nothing of it falls into a measured
window. What the reference gave is kept beyond the run and used again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from catalog.fixed_prompts import PromptSet, id_prompts, text_prompts
from catalog.lengths import Lengths
from flows.bench.endpoint import checked_endpoint
from flows.budget.quality import Asked, quality_steps, tasks_of
from flows.budget.times import added
from flows.errors import UsageError
from flows.load.address import shown
from flows.load.plan import Tls
from flows.preflight import Finding
from flows.quality.answering import Server
from flows.quality.beside import beside, counted
from flows.quality.harness import (
    NAMES_OF_TASKS,
    Score,
    Scored,
    Tasks,
    is_installed,
    local_names,
    no_task,
    unknown_tasks,
)
from flows.quality.kept import identity, place_of, weights_of
from flows.quality.measuring import (
    Given,
    Reference,
    Setup,
    given_as_candidate,
    given_by_candidate,
    given_by_reference,
    record,
)
from flows.quality.questions import read_questions
from flows.quality.reference import has_reference, is_measured, reference_of
from flows.serving import Serving, watched
from flows.underway import QUALITY_LAUNCH, Underway, utc_now
from reports.quality.again import is_as_written
from reports.quality.tables import (
    Sample,
    answers_name,
    read_answers,
    read_samples,
    samples_name,
)
from reports.run.plan_file import CandidateFacts, RunPlan, Visit
from reports.run.quality_file import QualityFile, ReferenceFacts
from reports.run.read import file_text, read_file

_SHORTEST_ANSWER: Final = 8


def order(work: Underway) -> Iterator[str]:
    """Candidates whose quality is still to be measured, the reference before all others.

    Each is found when the one before it has been measured, or could not be.
    """
    if not is_measured(work.plan):
        return
    first = reference_of(work.plan)
    names = [each.name for each in work.plan.candidates if each.measured]
    for name in sorted(names, key=lambda each: each != first):
        if first not in (None, name) and _is_missing(work, first):
            return  # it could not answer, so nobody can be held against it
        if _is_missing(work, name) and not work.is_given_up(name):
            yield name


def findings(work: Underway) -> Iterator[Finding]:
    """What would keep quality from being measured, before anything is started."""
    wanted = work.plan.contract.quality
    if wanted is None or work.plan.rehearsal:
        return
    if not has_reference(work.plan):
        yield Finding(
            severity="warns",
            where="quality",
            seen=f"no measured candidate has {wanted.reference}, so there is no reference",
            do="Name a candidate or an endpoint as quality.reference, or go without a proof",
        )
    if wanted.tasks and not is_installed():
        yield Finding(
            severity="warns",
            where="quality.tasks",
            seen="lm-evaluation-harness is not installed here, so no task is measured",
            do="Install runoff[quality]",
        )
    yield from _unknown(work, wanted.tasks)
    for name in local_names(wanted.tasks):
        try:
            read_questions(beside(work.asked.file, name))
        except UsageError as error:
            yield Finding(severity="blocks", where=error.where, seen=error.seen, do=error.do)


def _unknown(work: Underway, tasks: Sequence[str]) -> Iterator[Finding]:
    """Names that are no task: found now, not when everything else has been measured."""
    if not is_installed():
        return
    for name in unknown_tasks(tasks, work.around.environment, work.interruption.check):
        yield Finding(
            severity="blocks", where="quality.tasks", seen=no_task(name), do=NAMES_OF_TASKS
        )


def is_open(work: Underway) -> bool:
    """Whether a machine may be needed again when its cells are measured."""
    return next(order(work), None) is not None


def require_quality(plan: RunPlan, run: Path) -> None:
    """Return if quality can be measured in a run of that plan; else UsageError."""
    if plan.rehearsal:
        raise UsageError(
            str(run),
            "it is a rehearsal: simulated engines give no answers to be judged",
            "Measure the campaign: runoff compare without --rehearse",
        )
    if not is_measured(plan):
        raise UsageError(
            str(run),
            "quality was not measured",
            "State quality in the contract, with a reference among the candidates",
        )


def quality_visit(work: Underway, candidate: str) -> Visit:
    """The launch in which a candidate's answers are compared."""
    host = work.facts(candidate).host
    return Visit(host=host, replication=QUALITY_LAUNCH, candidate=candidate, load_points=())


def qualify(work: Underway, serving: Serving, candidate: str) -> None:
    """Measure a candidate's answers and keep its record in the run.

    Raises
    ------
    LaunchError
        If its server died meanwhile.
    RunoffError
        Where nothing can be compared with.
    """
    setup, began = _setup(work, candidate), utc_now()
    work.afford(f"quality of {candidate}", most_s(work, candidate, setup))
    facts, server = work.facts(candidate), _server(work, serving)
    is_reference = candidate == reference_of(work.plan)
    work.record("qualifying", candidate=candidate, launch=serving.launch)
    with watched(serving):
        if is_reference:
            reference = _own(work, server, setup, facts)
            found = given_as_candidate(reference.given)
        else:
            name = reference_of(work.plan)
            reference = (
                _at_endpoint(work, setup) if name is None else _recorded(work, name, setup)
            )
            found = given_by_candidate(server, setup, reference)
    made = record(
        candidate,
        setup,
        reference,
        found,
        is_dummy=facts.is_dummy,
        is_reference=is_reference,
        launch=serving.launch,
        started_at=began.isoformat(timespec="milliseconds"),
        ended_at=utc_now().isoformat(timespec="milliseconds"),
    )
    for name, content in made.tables.items():
        work.store.write_bytes(f"quality/{name}", content)
    work.store.write(f"quality/{candidate}.json", file_text(made.file))
    work.record("qualified", candidate=candidate, verdict=made.file.verdict)
    work.record_spent()
    work.progress.said(f"{candidate}: quality {made.file.verdict}: {made.file.why}")


def _is_missing(work: Underway, name: str | None) -> bool:
    return name is not None and not work.store.folder.quality(name).is_file()


def _setup(work: Underway, candidate: str) -> Setup:
    wanted = work.plan.contract.quality
    if wanted is None:
        raise UsageError("quality", "the contract has no such clause", "")
    contract = work.campaign.contract
    limits = wanted.agreement
    prompts = _prompts(work)
    answer = 32 if limits is None else limits.answer_tokens
    if not isinstance(prompts.prompts[0], str):
        room = _longest(contract.prompt_tokens, contract.output_tokens) - len(
            prompts.prompts[0]
        )
        answer = max(_SHORTEST_ANSWER, min(answer, room))
    streams = contract.concurrency or max(work.campaign.matrix.concurrency)

    def said(what: str) -> None:
        work.progress.state(candidate, f"quality: {what}")

    return Setup(
        asked=wanted,
        prompts=prompts,
        answer_tokens=answer,
        streams=streams,
        tasks=_tasks(work),
        environment=work.around.environment,
        look=work.interruption.check,
        said=said,
    )


def _longest(prompt: Lengths, output: Lengths) -> int:
    return prompt.maximum + output.maximum


def _prompts(work: Underway) -> PromptSet:
    """Texts; ids where a checkpoint knows no language."""
    if any(each.is_dummy for each in work.plan.candidates if each.measured):
        if work.asked.vocabulary is None:
            raise UsageError(
                "quality", "the model's config states no vocab_size", "Add it to the model"
            )
        return id_prompts(work.asked.vocabulary)
    return text_prompts()


def _tasks(work: Underway) -> Tasks:
    wanted = work.plan.contract.quality
    names = () if wanted is None else wanted.tasks
    return Tasks(
        names=names,
        files={
            name: read_questions(beside(work.asked.file, name)) for name in local_names(names)
        },
        samples=None if wanted is None else wanted.samples,
        has_prompt_logprobs=_have_prompt_logprobs(work),
        offline=work.campaign.offline,
    )


def _have_prompt_logprobs(work: Underway) -> bool:
    """Whether every runtime does, so that all are asked in the same way."""
    asked = work.asked.requested
    wanted = work.plan.contract.quality
    runtimes = [
        asked[each.name].runtime if each.name in asked else None
        for each in work.plan.candidates
        if each.measured
    ]
    is_elsewhere = wanted is not None and "://" in wanted.reference
    return not is_elsewhere and all(
        each is not None and each.capabilities.prompt_logprobs for each in runtimes
    )


def _server(work: Underway, serving: Serving) -> Server:
    running = serving.running
    return Server(
        endpoint=serving.endpoints[0] if running is None else running.endpoint(),
        model=serving.served_model,
        is_ids=not isinstance(_prompts(work).prompts[0], str),
        timeout_s=work.plan.matrix.timeout_s,
    )


def _own(work: Underway, server: Server, setup: Setup, facts: CandidateFacts) -> Reference:
    """The reference's answers: kept ones, or new ones that are kept."""
    request = work.asked.requested[facts.name].request if facts.kind == "launch" else None
    about = None if request is None else identity(request, setup)
    place = None if about is None else place_of(work.around.state, about)
    kept = None if place is None else place.read()
    given = given_by_reference(server, setup) if kept is None else kept
    if kept is None and place is not None and about is not None:
        place.write(given, about)
    return Reference(
        facts=ReferenceFacts(
            name=facts.name,
            precision=facts.precision,
            runtime=facts.runtime,
            version=facts.version,
            weights=None if request is None else weights_of(request),
            stored=kept is not None,
        ),
        given=given,
    )


def _recorded(work: Underway, name: str, setup: Setup) -> Reference:
    """The reference as the record of a candidate of this run holds it.

    Raises
    ------
    UsageError
        Where there is none, or its answers are not those to these prompts.
    """
    path = work.store.folder.quality(name)
    if not path.is_file():
        raise UsageError(
            "quality", f"the reference {name!r} has not answered", "Go on with --resume"
        )
    file = read_file(path, QualityFile)
    if file.prompts_sha256 != setup.prompts.sha256 or not is_as_written(path, file):
        raise UsageError(
            str(path),
            "its answers were changed, or are to other prompts",
            "Remove the records beside it, and ask again: runoff quality RUN",
        )
    answers, samples = path.with_name(answers_name(name)), path.with_name(samples_name(name))
    return Reference(
        facts=file.reference,
        given=Given(
            answers=tuple(
                each
                for each in (read_answers(answers) if answers.is_file() else ())
                if each.who != "candidate"
            ),
            scored=_scored(read_samples(samples) if samples.is_file() else ()),
            left_out=file.left_out if file.is_reference else (),
        ),
    )


def _scored(samples: Iterable[Sample]) -> tuple[Scored, ...]:
    by_task: defaultdict[tuple[str, str], list[Score]] = defaultdict(list)
    for each in samples:
        by_task[each.task, each.kind].append(
            Score(
                question=each.question,
                metric=each.metric,
                target=each.target,
                score=each.reference,
                answer=each.reference_answer,
            )
        )
    return tuple(
        Scored(task=task, kind=kind, rows=tuple(rows)) for (task, kind), rows in by_task.items()
    )


def _holds_all(file: QualityFile, setup: Setup) -> bool:
    """Whether a record has all that is asked of its reference.

    It holds what both gave: of a task that its candidate refused, nothing.
    """
    scored = {each.task for each in file.tasks}
    return file.agreement is not None and scored.issuperset(setup.tasks.names)


def _at_endpoint(work: Underway, setup: Setup) -> Reference:
    """The endpoint that is the reference, asked once in a run."""
    wanted = work.campaign.contract.quality
    url = "" if wanted is None else wanted.reference
    for path in sorted((work.store.folder.path / "quality").glob("*.json")):
        file = read_file(path, QualityFile)
        if file.reference.name == shown(url) and _holds_all(file, setup):
            return _recorded(work, file.candidate, setup)
    headers = {}
    variable = None if wanted is None else wanted.reference_api_key_env
    if variable is not None:
        key = work.around.environment.get(variable, "").strip()
        headers["Authorization"] = f"Bearer {key}"
    server = Server(
        endpoint=checked_endpoint(url, headers, Tls()),
        model=work.plan.contract.model,
        is_ids=not isinstance(setup.prompts.prompts[0], str),
        timeout_s=work.plan.matrix.timeout_s,
    )
    return Reference(
        facts=ReferenceFacts(name=shown(url)), given=given_by_reference(server, setup)
    )


def most_s(work: Underway, candidate: str, setup: Setup) -> float:
    """The most that asking a candidate may take, in s, as the plan's estimate has it."""
    own = {name: counted(each) for name, each in setup.tasks.files.items()}
    asked = Asked(
        prompts=len(setup.prompts.prompts),
        answer_tokens=setup.answer_tokens,
        tasks=tasks_of(work.plan, own),
        streams=setup.streams,
    )
    steps = quality_steps(work.plan, work.facts(candidate), asked)
    return added(each.time for each in steps).high
