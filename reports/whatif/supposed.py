"""The decision that a run's evidence gives under other conditions, beside the run's own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace

from catalog.verdict import Status
from reports.again import concluded_at
from reports.checks import Evidence, checks_of
from reports.decide import decide
from reports.gathered import Gathered, Replication, gathered
from reports.repriced import summary_at_prices
from reports.run import layout
from reports.run.cell_file import AskedSlo
from reports.run.checks_file import Check, Checks
from reports.run.decision_file import Decision, Stamp
from reports.run.plan_file import ContractFacts, RunPlan, SloFacts
from reports.run.read import Run
from reports.run.summary_file import Summary
from reports.run.whatif_file import AtRate, Change
from reports.screen_file import read_screen
from reports.summary import summary_of
from reports.whatif.asked import Asked, Votes, changes_of, supposed_plan
from reports.whatif.rates import answers_at, answers_without
from reports.whatif.words import caveats, is_same, sentence_of, unknown_sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Supposed:
    """The run's decision and the supposed one.

    ``now`` is None where it hangs on what was not measured. ``answers`` are of candidates
    that were not measured at the load that was asked for. ``evidence`` is the stamp of the
    evidence, which a what-if never betters.
    """

    run: str
    changes: tuple[Change, ...]
    then: Decision
    now: Decision | None
    answers: tuple[AtRate, ...]
    evidence: Stamp
    sentence: str
    caveats: tuple[str, ...]

    @property
    def is_changed(self) -> bool | None:
        """Whether another candidate wins or the outcome is another one; None: not known."""
        return None if self.now is None else not is_same(self.then, self.now)


def suppose(run: Run, asked: Asked) -> Supposed:
    """Return what would be decided if everything asked for had been so.

    It is judged on the day on which the run was concluded: with nothing asked for, ``now`` is
    the run's own decision, bit by bit. Other limits are held against the request records.

    Raises
    ------
    KeyError
        For a price of no candidate.
    ReportsError
        Where evidence is missing or damaged.
    """
    plan, at = supposed_plan(run.plan, asked, _votes(run)), concluded_at(run)
    files = replace(gathered(run), plan=plan)
    summary = _summary(run, files, asked.slo)
    found = decide(plan, summary, _checks(run, files, summary, at), at)
    answers = _answers(summary, plan.contract, asked)
    is_known = asked.rate_per_s is None and all(e.answer == "misses" for e in answers)
    now = found if is_known else None
    return Supposed(
        run=run.plan.run,
        changes=changes_of(run.plan, plan, asked),
        then=run.decision,
        now=now,
        answers=answers,
        evidence=found.stamp,
        sentence=unknown_sentence(answers, asked)
        if now is None
        else sentence_of(run.decision, now),
        caveats=tuple(caveats(run, plan, found)),
    )


def _votes(run: Run) -> Votes:
    """The gates that reject each candidate; nothing where the run has no paper vote."""
    screen = read_screen(run.folder.file(layout.GATES))
    return {
        each.name: frozenset(g.gate for g in each.gates if g.status is Status.REJECT)
        for each in (screen.candidates if screen is not None else ())
    }


def _answers(summary: Summary, contract: ContractFacts, asked: Asked) -> tuple[AtRate, ...]:
    if asked.rate_per_s is not None:
        return answers_at(summary, contract, asked.rate_per_s)
    return () if asked.point is None else answers_without(summary, contract, asked.point)


def _summary(run: Run, files: Gathered, slo: SloFacts | None) -> Summary:
    if slo is None:
        return summary_at_prices(run.summary, files.plan)
    limits = _asked(slo)
    held = tuple(_held_against(each, limits) for each in files.replications)
    return summary_of(run, replace(files, replications=held))


def _held_against(each: Replication, slo: AskedSlo) -> Replication:
    measured = each.measured
    asked = measured.file.asked.model_copy(update={"slo": slo})
    file = measured.file.model_copy(update={"asked": asked})
    return replace(each, measured=replace(measured, file=file))


def _asked(slo: SloFacts) -> AskedSlo:
    return AskedSlo(
        ttft_ms=slo.ttft_ms,
        itl_ms=slo.itl_ms,
        itl_statistic=slo.itl_statistic,
        percentile=slo.percentile,
        goodput=slo.goodput,
        first="answer" if slo.ttft_counts == "answer_token" else "token",
    )


def _checks(run: Run, files: Gathered, summary: Summary, at: dt.datetime) -> Checks:
    made = checks_of(Evidence(files=files, summary=summary, today=at.date()))
    return made.model_copy(update={"checks": (*made.checks, *_carried(run, files.plan))})


def _carried(run: Run, plan: RunPlan) -> Iterator[Check]:
    """Contradictions of the run, which another load point does not dispel."""
    point = plan.matrix.decision_point
    if point == run.plan.matrix.decision_point:
        return
    for each in run.checks.checks:
        if each.id == "contradiction" and each.verdict == "fail":
            seen = f"at {each.load_point}: {each.observed}"
            yield each.model_copy(update={"load_point": point, "observed": seen})
