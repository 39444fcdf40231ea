"""A run as the baseline of a later one."""

from __future__ import annotations

from collections.abc import Iterator

from reports.decide.contender import Contender
from reports.decide.standing import contenders
from reports.errors import ReportsError
from reports.history.read import marks_of
from reports.reevaluate.watched import PINNED
from reports.run import layout
from reports.run.baseline_file import Baseline, Evidence, PinnedCandidate, Versions
from reports.run.plan_file import RunPlan
from reports.run.read import Run, read_file
from reports.run.signoff_file import Signoff
from reports.validity import valid_until


def evidence_of(plan: RunPlan) -> Evidence:
    """What kind of evidence a run's figures are."""
    if plan.imported is not None:
        return "imported"
    return "simulated" if plan.rehearsal else "measured"


def origin_of(run: Run) -> str:
    """The name by which today's campaign file knows the run's winner.

    That of a control of an earlier re-evaluation is the candidate that it stood for. Raises
    ReportsError for a run that names nobody.
    """
    winner = _winner(run)
    earlier = run.baseline
    if earlier is not None and winner == earlier.control:
        return earlier.champion or earlier.control
    return winner


def baseline_of(
    run: Run,
    *,
    manifest_sha256: str,
    champion: str | None,
    control: str,
    versions: Versions,
    campaign_sha256: str,
) -> Baseline:
    """The run pinned as the baseline of a re-evaluation.

    Parameters
    ----------
    manifest_sha256
        Of the run's manifest, which its files were held against before.
    champion, control, versions, campaign_sha256
        As ``Baseline`` has them.

    Raises
    ------
    ReportsError
        For a run that names nobody, or a file of it that cannot be read.
    """
    plan, decision = run.plan, run.decision
    until = valid_until(plan, decision)
    return Baseline(
        campaign=plan.campaign,
        run=plan.run,
        manifest_sha256=manifest_sha256,
        created_at=plan.created_at,
        method_version=decision.method_version,
        contract=plan.contract,
        evidence=evidence_of(plan),
        stamp=decision.stamp,
        outcome=decision.outcome,
        sentence=decision.sentence,
        signed_by=_signed_by(run, manifest_sha256),
        valid_until=None if until is None else until.isoformat(),
        winner=_winner(run),
        champion=champion,
        control=control,
        versions=versions,
        campaign_sha256=campaign_sha256,
        candidates=tuple(_candidates(run)),
    )


def _winner(run: Run) -> str:
    if run.decision.winner is None:
        raise ReportsError(
            str(run.folder.path),
            f"it names no candidate ({run.decision.outcome}), so nothing can be re-evaluated",
            "Take a run with a decision as the baseline",
        )
    return run.decision.winner


def _signed_by(run: Run, manifest_sha256: str) -> tuple[str, ...]:
    path = run.folder.file(layout.SIGNOFF)
    if not path.is_file():
        return ()
    signoff = read_file(path, Signoff)
    if not signoff.approves(run.decision, manifest_sha256):
        raise ReportsError(
            str(path), "it approves another manifest than the run has", "Restore the run"
        )
    return tuple(each.by for each in signoff.approvals)


def _candidates(run: Run) -> Iterator[PinnedCandidate]:
    for each in contenders(run.plan, run.summary, run.checks):
        facts, cell = each.facts, each.cell
        yield PinnedCandidate(
            name=facts.name,
            standing=each.standing,
            runtime=facts.runtime,
            version=facts.version,
            price=facts.price,
            decision_point=None if cell is None else cell.load_point,
            verdict=None if cell is None else cell.verdict,
            marks=marks_of(run.folder.path, run.plan, run.summary, facts.name),
            figures=_figures(each),
        )


def _figures(each: Contender) -> dict[str, dict[int, float | None]]:
    found = {metric.name: each.measure(each.cell, metric.name) for metric in PINNED}
    return {name: values for name, values in found.items() if values}
