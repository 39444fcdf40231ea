"""Two endpoints as they stand: the answers of one held against those of the other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.fixed_prompts import id_prompts, text_prompts
from flows.bench.endpoint import checked_endpoint
from flows.bench.places import write_whole
from flows.errors import UsageError
from flows.load.plan import Tls
from flows.quality.answering import Server, refuse_rehearsal, returns_prompt_logprobs
from flows.quality.beside import PREFIX
from flows.quality.harness import (
    NAMES_OF_TASKS,
    Tasks,
    local_names,
    no_task,
    require_harness,
    unknown_tasks,
)
from flows.quality.measuring import (
    Record,
    Reference,
    Setup,
    given_by_candidate,
    given_by_reference,
    record,
)
from flows.quality.questions import read_questions
from reports.run.plan_file import AgreementFacts, QualityFacts
from reports.run.quality_file import ReferenceFacts
from reports.run.read import file_text

NAME: Final = "endpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two: the completions call, the served name, the variable with its key."""

    url: str
    model: str
    api_key_env: str | None = None

    def server(
        self, environment: Mapping[str, str], *, is_ids: bool, timeout_s: float
    ) -> Server:
        """The server; UsageError where its variable holds no key."""
        headers = {}
        if self.api_key_env is not None:
            key = environment.get(self.api_key_env, "").strip()
            if not key:
                raise UsageError(
                    self.api_key_env, f"the variable {self.api_key_env} is not set", "Export it"
                )
            headers["Authorization"] = f"Bearer {key}"
        return Server(
            endpoint=checked_endpoint(self.url, headers, Tls()),
            model=self.model,
            is_ids=is_ids,
            timeout_s=timeout_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What the user asked for. ``vocabulary``: prompts are ids of one of that size."""

    candidate: Side
    reference: Side
    asked: QualityFacts
    concurrency: int
    vocabulary: int | None = None
    timeout_s: float = 600.0


def compared(
    pair: Pair,
    environment: Mapping[str, str],
    said: Callable[[str], None],
    now: Callable[[], dt.datetime],
) -> Record:
    """The record of the candidate beside the reference.

    Raises
    ------
    RunoffError
        Where one of them cannot be asked, or is a rehearsal engine.
    """
    is_ids, began = pair.vocabulary is not None, now()
    ours, theirs = (
        side.server(environment, is_ids=is_ids, timeout_s=pair.timeout_s)
        for side in (pair.candidate, pair.reference)
    )
    names = pair.asked.tasks
    if names:
        require_harness()
    for name in unknown_tasks(names, environment, lambda: None):
        raise UsageError("--task", no_task(name), NAMES_OF_TASKS)
    limits = pair.asked.agreement or AgreementFacts()
    prompts = id_prompts(pair.vocabulary) if pair.vocabulary else text_prompts()
    for server in (theirs, ours):
        refuse_rehearsal(server, prompts.prompts[0])

    def at(side: str) -> Setup:
        return Setup(
            asked=pair.asked,
            prompts=prompts,
            answer_tokens=limits.answer_tokens,
            streams=pair.concurrency,
            tasks=tasks,
            environment=environment,
            look=lambda: None,
            said=lambda what: said(f"{side}: {what}"),
        )

    tasks = Tasks(
        names=names,
        files={
            name: read_questions(Path(name.removeprefix(PREFIX).strip()))
            for name in local_names(names)
        },
        samples=pair.asked.samples,
        has_prompt_logprobs=bool(names) and all(map(returns_prompt_logprobs, (theirs, ours))),
    )
    reference = Reference(
        facts=ReferenceFacts(name=theirs.where),
        given=given_by_reference(theirs, at("reference")),
    )
    found = given_by_candidate(ours, at("candidate"), reference)
    return record(
        NAME,
        at("candidate"),
        reference,
        found,
        is_dummy=is_ids,
        started_at=began.isoformat(timespec="milliseconds"),
        ended_at=now().isoformat(timespec="milliseconds"),
    )


def write_record(made: Record, folder: Path) -> None:
    """The record and its tables, as a run directory has them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in made.tables.items():
        (folder / name).write_bytes(content)
    write_whole(folder / f"{made.file.candidate}.json", file_text(made.file))
