"""What keeps a run from being signed: one rule each, with what to do.

A failed check can be covered by a waiver where it is waivable; the rules of this module
besides those on checks can not.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catalog.sale import is_stale
from reports.errors import ReportsError
from reports.manifest import Finding
from reports.run import layout
from reports.run.cell_file import CellFile
from reports.run.checks_file import Checks
from reports.run.decision_file import Decision
from reports.run.plan_file import CandidateFacts, ContractFacts, RunPlan
from reports.run.read import Run
from reports.run.signoff_file import Waiver
from reports.run.summary_file import Summary
from reports.validity import ranked_candidates, read_on

if TYPE_CHECKING:
    from reports.again import Difference  # it concludes, which takes scipy


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a run directory says of itself; ``contract_sha256`` is that of its campaign file."""

    plan: RunPlan
    summary: Summary
    checks: Checks
    decision: Decision
    cells: tuple[CellFile, ...]
    contract_sha256: str

    @property
    def winner(self) -> CandidateFacts | None:
        """Whom the evidence or the rule for ties names; None too for one not planned."""
        named = signable_winner(self.decision)
        return next((each for each in self.plan.candidates if each.name == named), None)


def signable_winner(decision: Decision) -> str | None:
    """The name that can be signed for: the chosen one, or of a tie whom the rule names."""
    if decision.outcome == "no difference shown":
        return decision.tie_break
    return decision.chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason against a signoff, and what to do.

    ``check`` is the one that it is of, ``observed`` what that check saw, without its words.
    """

    rule: str
    seen: str
    do: str
    check: str | None = None
    observed: str | None = None


def evidence_of(run: Run) -> Evidence:
    """The evidence of a run directory; raises ReportsError for a file that is none."""
    campaign = run.folder.file(layout.CAMPAIGN)
    try:
        digest = hashlib.sha256(campaign.read_bytes()).hexdigest()
    except OSError as error:
        raise ReportsError(
            str(campaign), f"cannot be read: {error.strerror}", "Restore the file"
        ) from error
    return Evidence(
        plan=run.plan,
        summary=run.summary,
        checks=run.checks,
        decision=run.decision,
        cells=tuple(measured.file for measured in run.cells),
        contract_sha256=digest,
    )


def refusals(
    evidence: Evidence, waivers: Sequence[Waiver], today: dt.date
) -> tuple[Refusal, ...]:
    """Every reason against signing the run on that day under those waivers."""
    found = [refusal for rule in _RULES for refusal in rule(evidence)]
    found += _price(evidence, today)
    found += _checks(evidence, waivers)
    return tuple(dict.fromkeys(found))


def unmanifested(findings: Sequence[Finding]) -> tuple[Refusal, ...]:
    """The refusals for a run directory that is not what its manifest says."""
    do = "Restore the file, or render the report again and read it before you sign"
    return tuple(
        Refusal(rule="manifest", seen=f"{each.path} is {each.kind}: {each.seen}", do=do)
        for each in findings
    )


def unfounded(
    conclusion: Sequence[Difference] | str, pages: Sequence[Difference] | str
) -> tuple[Refusal, ...]:
    """The refusals for files that do not follow from the evidence when they are made again.

    A text says why they cannot be made again: then nobody can tell what would be approved.
    Pages of another release stay as they are; the decision is what is signed.
    """
    if isinstance(conclusion, str):
        do = "Sign with the release that decided it"
        return (Refusal(rule="conclusion", seen=conclusion, do=do),)
    found = [("conclusion", each) for each in conclusion]
    if not isinstance(pages, str):
        found += [("pages", each) for each in pages]
    return tuple(
        Refusal(rule=rule, seen=f"{each.of}: {each.seen}", do=_RESTORE[rule])
        for rule, each in found
    )


_RESTORE: Final = {
    "conclusion": "Only what follows from the evidence is signed: restore the files",
    "pages": "Render them with runoff report, and read them before you sign",
}


def covers(waiver: str, check: str) -> bool:
    """Whether a waiver's name is the check's, or that of all checks that it is one of."""
    return check == waiver or check.startswith(f"{waiver}/")


def _outcome(evidence: Evidence) -> Iterator[Refusal]:
    decision = evidence.decision
    name = signable_winner(decision)
    if name is None or decision.outcome not in _DECIDED:
        yield Refusal(
            rule="outcome",
            seen=f"no candidate is chosen ({decision.outcome})",
            do="There is nothing to put into service; measure what is open and conclude again",
        )
    elif evidence.winner is None:
        yield Refusal(
            rule="outcome",
            seen=f"{name} is chosen, and the plan has no such candidate",
            do="Conclude the run again",
        )
    else:
        place = next((p for p in decision.ranking if p.name == name), None)
        if place is None or place.standing != "complies":
            seen = "is not ranked" if place is None else f"stands as {place.standing!r}"
            yield Refusal(
                rule="outcome",
                seen=f"{name} is chosen, and {seen}",
                do="Only a candidate that holds the contract can be signed",
            )


_DECIDED: Final = ("chosen", "no difference shown")


def _stamp(evidence: Evidence) -> Iterator[Refusal]:
    plan, summary = evidence.plan, evidence.summary
    simulated = any(cell.basis == "simulation" for cell in evidence.cells)
    stamps = {
        "REHEARSAL": plan.rehearsal or summary.rehearsal or simulated,
        "IMPORTED": plan.imported is not None or summary.imported,
        "EXPLORATORY": plan.exploratory,
        "ESTIMATE": not evidence.cells,
    }
    given = evidence.decision.stamp
    if given not in ("MEASURED", "SIGNED"):
        stamps[given] = True
    for name, is_given in stamps.items():
        if is_given:
            yield Refusal(
                rule="stamp", seen=f"the run is stamped {name}: {_STAMPS[name]}", do=_MEASURE
            )


_MEASURE: Final = "Measure the campaign itself, with its replications and requests"
_STAMPS: Final = {
    "REHEARSAL": "its numbers come from a simulation",
    "IMPORTED": "its numbers come from another tool, without our evidence",
    "EXPLORATORY": "it has too few launches or requests, or was declared so",
    "ESTIMATE": "nothing was measured",
}


def _unsignable(evidence: Evidence) -> Iterator[Refusal]:
    for place in evidence.decision.ranking:
        if place.name == signable_winner(evidence.decision):
            for reason in place.unsignable:
                yield Refusal(rule="candidate", seen=f"{place.name}: {reason}", do=_MEASURE)


def _edited(evidence: Evidence) -> Iterator[Refusal]:
    plan = evidence.plan
    if evidence.contract_sha256 != plan.campaign_sha256:
        yield Refusal(
            rule="contract",
            seen=f"{layout.CAMPAIGN} is not the file that was planned",
            do="A contract is not edited after measuring: run the new one",
        )
    for cell in evidence.cells:
        if not _is_asked(cell, plan.contract):
            name = f"{cell.candidate} at {cell.load_point}, replication {cell.replication}"
            yield Refusal(
                rule="contract",
                seen=f"{name} was measured under other limits than the contract's",
                do="A contract is not edited after measuring: run the new one",
            )


def _is_asked(cell: CellFile, contract: ContractFacts) -> bool:
    asked, slo = cell.asked.slo, contract.slo
    return (
        asked.ttft_ms == slo.ttft_ms
        and asked.itl_ms == slo.itl_ms
        and asked.goodput == slo.goodput
        and asked.percentile == slo.percentile
        and (asked.itl_ms is None or asked.itl_statistic == slo.itl_statistic)
        and (asked.first == "answer") == (slo.ttft_counts == "answer_token")
    )


def _quality(evidence: Evidence) -> Iterator[Refusal]:
    """A clause on quality that is not shown to hold; no clause needs no proof."""
    winner = evidence.winner
    if winner is None or evidence.plan.contract.quality is None:
        return
    summary = evidence.summary.candidate(winner.name)
    verdict = "not measured"
    if summary is not None and summary.quality is not None:
        verdict = str(summary.quality.get("verdict", "inconclusive"))
    if verdict != "holds":
        yield Refusal(
            rule="quality",
            seen=f"the contract has a quality clause; for {winner.name} it is {verdict}",
            do="Measure its answers against the reference",
        )


def _price(evidence: Evidence, today: dt.date) -> Iterator[Refusal]:
    """A price may have grown old since the run was concluded; those of rivals decide too."""
    for each in ranked_candidates(evidence.plan, evidence.decision):
        day = read_on(each)
        if each.price is None:
            continue
        if each.price.stale or (day is not None and is_stale(day, today)):
            read = f"of {day.isoformat()}" if day is not None else "without a known day"
            yield Refusal(
                rule="price",
                seen=f"the price of {each.name} is stale ({read})",
                do="Read the price again and conclude a run with it",
            )


def _checks(evidence: Evidence, waivers: Sequence[Waiver]) -> Iterator[Refusal]:
    winner = evidence.winner
    for check in evidence.checks.checks:
        if not check.stands_against(None if winner is None else winner.name):
            continue
        seen = (
            f"{check.name}: {check.requirement}: {check.observed}, needed {check.needed} "
            f"({check.verdict})"
        )
        if not check.waivable:
            do = "No waiver covers this check"
        elif any(covers(waiver.check, check.name) for waiver in waivers):
            continue
        else:
            do = f"Measure again, or accept it with --waive '{check.name}:REASON'"
        yield Refusal(rule="check", seen=seen, do=do, check=check.name, observed=check.observed)


_RULES: Final[tuple[Callable[[Evidence], Iterator[Refusal]], ...]] = (
    _outcome,
    _stamp,
    _unsignable,
    _edited,
    _quality,
)
