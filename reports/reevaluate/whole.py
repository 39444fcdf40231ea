"""A run's ``reevaluation.json``, from its own files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence

from reports.decide import decide
from reports.decide.contender import Contender
from reports.decide.standing import contenders
from reports.errors import ReportsError
from reports.history.facts import RunFacts
from reports.history.read import concluded_facts, marks_of
from reports.history.series import all_series, with_changes
from reports.history.words import change_lines
from reports.reevaluate.answer import Question, answered
from reports.reevaluate.changes import changes_since, inexact
from reports.reevaluate.pin import evidence_of
from reports.reevaluate.watched import paired_now, since_then, why_not_since
from reports.repriced import summary_at_prices, with_prices
from reports.run import layout
from reports.run.baseline_file import Baseline
from reports.run.checks_file import Checks
from reports.run.decision_file import Comparison, Decision
from reports.run.plan_file import METHOD_VERSION, RunPlan
from reports.run.read import Run
from reports.run.reevaluation_file import Change, Reevaluation
from reports.run.summary_file import Summary
from reports.validity import is_expired

_NEWEST = 5  # runs: a change of level that began earlier has been told before


def reevaluation_of(
    run: Run, summary: Summary, checks: Checks, decision: Decision, now: dt.datetime
) -> Reevaluation | None:
    """The answer of a run that is being concluded; None where it re-evaluates no other.

    Raises
    ------
    ReportsError
        For a baseline of which this run holds no control.
    """
    baseline = run.baseline
    if baseline is None:
        return None
    plan = run.plan
    everybody = contenders(plan, summary, checks)
    by_name = {each.name: each for each in everybody}
    if baseline.control not in by_name:
        raise ReportsError(
            str(run.folder.file(layout.BASELINE)),
            f"its control {baseline.control!r} is no candidate of the run",
            "Restore the file",
        )
    marks = _marks(run, summary)
    changes = changes_since(baseline, plan, marks)
    control = by_name[baseline.control]
    why_not = why_not_since(
        baseline, control, plan.contract, evidence_of(plan), decision.method_version
    )
    if why_not is None and inexact(changes, control.facts.name) is not None:
        why_not = f"{control.facts.name} is not started as in the baseline"
    since = () if why_not else since_then(baseline, control)
    versions, warned = _versions(baseline, by_name, plan)
    warned = (*warned, *_unseen(everybody, baseline), *_over(baseline, now.date()))
    warned = (*warned, *_inexact(baseline, changes))
    if why_not:
        warned = (*warned, f"Not held against the baseline's own figures: {why_not}.")
    found = answered(
        Question(
            baseline=baseline,
            everybody=everybody,
            decision=decision,
            at_old_prices=_at_old_prices(baseline, plan, summary, checks, now),
            changes=changes,
            versions=versions,
            since=since,
        )
    )
    return Reevaluation(
        method_version=METHOD_VERSION,
        kind="measured",
        campaign=plan.campaign,
        run=plan.run,
        baseline=baseline.run,
        baseline_manifest_sha256=baseline.manifest_sha256,
        answer=found.answer,
        sentence=found.sentence,
        reasons=found.reasons,
        winner_before=baseline.winner,
        winner_now=decision.winner,
        control=baseline.control,
        champion=baseline.champion,
        changes=changes,
        versions=versions,
        since=since,
        warnings=(*warned, *_from_history(run, baseline, summary, decision)),
        notes=found.notes,
        stamp=decision.stamp,
        exit_code=found.exit_code,
    )


def _unseen(everybody: Sequence[Contender], baseline: Baseline) -> Iterator[str]:
    """Challengers of which nothing is shown: they could not take the decision."""
    for each in everybody:
        is_shown = each.standing in ("complies", "misses", "voted out on paper")
        if each.name not in baseline.family and not is_shown:
            yield f"{each.name} could not take the decision: {each.standing}: {each.why}."


def _inexact(baseline: Baseline, changes: Sequence[Change]) -> Iterator[str]:
    """That the control is not started bit by bit as the baseline was."""
    for each in changes:
        if each.candidate == baseline.control and each.kind == "version":
            yield (
                f"The control is not started exactly as in the baseline: its {each.what} was "
                f"{each.before or 'not known'} and is {each.now or 'not known'}."
            )


def _over(baseline: Baseline, today: dt.date) -> Iterator[str]:
    """That the baseline's decision had run out by the day of this answer."""
    if is_expired(baseline.valid_until, today):
        yield f"The baseline was valid until {baseline.valid_until}."


def _marks(run: Run, summary: Summary) -> Mapping[str, Mapping[str, str]]:
    return {
        each.name: marks_of(run.folder.path, run.plan, summary, each.name)
        for each in run.plan.candidates
        if each.measured
    }


def _versions(
    baseline: Baseline, by_name: Mapping[str, Contender], plan: RunPlan
) -> tuple[tuple[Comparison, ...], tuple[str, ...]]:
    name = baseline.champion
    if name is None:
        return (), (f"The campaign file has no candidate {baseline.winner} any more.",)
    if name == baseline.control or name not in by_name:
        return (), ()
    champion, control = by_name[name], by_name[baseline.control]
    if champion.cell is None or control.cell is None:
        missing = champion if champion.cell is None else control
        return (), (f"{name} is not compared with the control: {missing.name}: {missing.why}.",)
    for each in (champion, control):
        if each.cell is not None and each.cell.verdict != "valid":
            why = f"the cell of {each.name} is {each.cell.verdict}"
            return (), (f"{name} is not compared with the control: {why}.",)
    return paired_now(champion, control, plan.contract), ()


def _at_old_prices(
    baseline: Baseline, plan: RunPlan, summary: Summary, checks: Checks, now: dt.datetime
) -> Decision:
    """What this run's figures decide at the baseline's prices."""
    prices = {each.name: each.price for each in baseline.candidates}
    old = {
        each.name: prices[baseline.winner if each.name in baseline.family else each.name]
        for each in plan.candidates
        if each.name in baseline.family or each.name in prices
    }
    before = with_prices(plan, old)
    return decide(before, summary_at_prices(summary, before), checks, now)


def _from_history(
    run: Run, baseline: Baseline, summary: Summary, decision: Decision
) -> Iterator[str]:
    """Changes of level that began with one of the newest runs, of champion and control."""
    if run.history is None:
        return
    now = concluded_facts(run.folder.path, run.plan.run, run.plan, summary, decision)
    runs: list[RunFacts] = [*run.history.runs, now]
    for series in all_series(runs):
        if series.key.candidate not in baseline.family or series.seen[-1].run != now:
            continue
        newest = {each.run.path for each in series.seen[-_NEWEST:]}
        for line in change_lines([with_changes(series)], of=newest):
            yield f"History alone shows: {line}. It changes no answer; look at what was marked."
