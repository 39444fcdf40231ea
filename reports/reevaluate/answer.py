"""The answer of a re-evaluation: still valid, a regression, another decision, or nothing shown.

Three questions are asked of one run. Who is decided for now, with the baseline's own
configuration as the incumbent. Whether the champion's release of today is worse than that
configuration, side by side in each replication. Whether that configuration is worse than it
was, across the two runs. What history alone shows changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from reports.decide.contender import Contender
from reports.metric_names import metric_name
from reports.number_words import ratio_phrase
from reports.reevaluate.changes import counterpart, inexact, release_words
from reports.reevaluate.watched import PINNED
from reports.run.baseline_file import Baseline
from reports.run.decision_file import Comparison, Decision
from reports.run.plan_file import CandidateFacts
from reports.run.reevaluation_file import Answer, Change, Kind, Reason

VALID, REGRESSED, OPEN = 0, 6, 5
_JUDGED: Final = ("complies", "misses")
_LESS_IS_BETTER: Final = frozenset(each.name for each in PINNED if each.better == "lower")
_VOID: Final = (5, 7, 8)  # exit codes of a decision that was not reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer with its reasons, a sentence, and the exit code."""

    answer: Answer
    sentence: str
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """All that the answer rests on.

    ``decision`` is this run's, ``at_old_prices`` what it would be at the baseline's prices.
    ``versions`` are the champion against the control, ``since`` the control against the
    baseline.
    """

    baseline: Baseline
    everybody: Sequence[Contender]
    decision: Decision
    at_old_prices: Decision
    changes: tuple[Change, ...] = ()
    versions: tuple[Comparison, ...] = ()
    since: tuple[Comparison, ...] = ()
    by_name: dict[str, Contender] = field(init=False)

    def __post_init__(self) -> None:
        found = {each.name: each for each in self.everybody}
        object.__setattr__(self, "by_name", found)

    @property
    def control(self) -> Contender:
        """The baseline's exact configuration, measured again."""
        return self.by_name[self.baseline.control]

    @property
    def champion(self) -> Contender | None:
        """The champion at today's release; None where it is the control, or not measured."""
        name = self.baseline.champion
        if name is None or name == self.baseline.control or name not in self.by_name:
            return None
        return self.by_name[name]

    def has(self, kind: Kind) -> bool:
        """Whether anything of this kind differs from the baseline."""
        return any(each.kind == kind for each in self.changes)


def answered(question: Question) -> Answered:
    """Return the answer: another decision before a regression, and that before nothing.

    All of them rest on the control: one that is not the baseline's configuration shows nothing.
    """
    other = inexact(question.changes, question.baseline.control)
    if other is not None:
        return _open(question, _why_inexact(question, other))
    baseline, decision = question.baseline, question.decision
    is_judged = any(
        each is not None and each.standing in _JUDGED
        for each in (question.control, question.champion)
    )
    winner = decision.winner
    if is_judged and winner is not None and winner not in baseline.family:
        return _changed(question, f"{winner} takes the place of {baseline.winner}")
    if is_judged and decision.outcome == "none complies":
        return _changed(question, "no candidate holds the contract any longer")
    reasons = tuple(_regressions(question))
    if reasons:
        return Answered(
            answer="regression",
            sentence=f"Regression: {'; '.join(each.sentence for each in reasons)}.",
            reasons=reasons,
            notes=tuple(_notes(question)),
            exit_code=REGRESSED,
        )
    if winner is None or _unjudged(question) is not None:
        return _open(question, _why_open(question))
    return Answered(
        answer="still valid",
        sentence=f"Still valid: {baseline.winner} stays. {_stays(question)}",
        notes=(*_notes(question), *_not_excluded(question)),
        exit_code=VALID,
    )


def _open(question: Question, why: str) -> Answered:
    code = question.decision.exit_code
    return Answered(
        answer="inconclusive",
        sentence=f"Inconclusive: {why}",
        exit_code=code if code in _VOID else OPEN,
    )


def _why_inexact(question: Question, other: Change) -> str:
    """That nothing can be laid to time or release, and what was decided all the same."""
    return (
        f"{question.control.name} is not started as {question.baseline.winner} of the baseline "
        f"was, its {other.what} was {other.before} and is {other.now}: nothing is shown of "
        f"that configuration. This run alone says: {question.decision.sentence}"
    )


def _unjudged(question: Question) -> Contender | None:
    """Control or champion of which it is not shown whether it holds the contract, if any."""
    both = (question.control, question.champion)
    return next((e for e in both if e is not None and e.standing not in _JUDGED), None)


def shown_worse(found: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons in which the candidate is shown to be worse."""
    return tuple(each for each in found if each.word == "worse")


def _changed(question: Question, what: str) -> Answered:
    reasons = tuple(_why_changed(question))
    return Answered(
        answer="decision changed",
        sentence=f"The decision changed: {what}. {_said(reasons)}",
        reasons=reasons,
        notes=tuple(_notes(question)),
        exit_code=REGRESSED,
    )


def _said(reasons: Sequence[Reason]) -> str:
    words = "; ".join(each.sentence for each in reasons)
    return f"{words[:1].upper()}{words[1:]}."


def _why_changed(question: Question) -> Iterator[Reason]:
    """Every kind of change that can have made another decision; of prices it is tried."""
    baseline = question.baseline
    if question.has("contract"):
        clauses = [each.what for each in question.changes if each.kind == "contract"]
        words = f"the contract is another one ({', '.join(clauses)})"
        yield Reason(kind="contract", sentence=words)
    is_price = question.has("price") and question.at_old_prices.winner in baseline.family
    if is_price:
        yield Reason(
            kind="price",
            sentence=f"at the baseline's prices {baseline.winner} would have stayed",
        )
    found = [*_of_winner(question), *_regressions(question)]
    yield from found
    if not found and not is_price and not question.has("contract"):
        yield Reason(kind="measurement", sentence=_only_figures(question))


def _of_winner(question: Question) -> Iterator[Reason]:
    """That the winner is new, or runs another release than the baseline measured."""
    winner = question.decision.winner
    if winner is None:
        return
    facts = question.by_name[winner].facts
    pinned = counterpart(question.baseline, winner)
    if pinned is None:
        yield Reason(kind="candidate", sentence=f"{winner} was no candidate of the baseline")
        return
    if pinned.figures == {}:
        words = f"{winner} was not measured in the baseline ({pinned.standing})"
        yield Reason(kind="candidate", sentence=words)
    before, now = release_words(pinned.runtime, pinned.version), _release(facts)
    if before != now:
        yield Reason(kind="version", sentence=f"{winner} runs {now}, and ran {before}")


def _only_figures(question: Question) -> str:
    marked = dict.fromkeys(
        f"{each.what} of {each.candidate}"
        for each in question.changes
        if each.kind == "measurement"
    )
    seen = f"what differs is the {', the '.join(marked)}" if marked else _NOTHING_DIFFERS
    return f"prices, releases and the contract do not explain it: the figures moved; {seen}"


_NOTHING_DIFFERS: Final = "nothing that was recorded of the machines differs"


def _regressions(question: Question) -> Iterator[Reason]:
    """What is shown to be worse: the baseline's configuration than it was, today's than it."""
    control, champion = question.control, question.champion
    for each in shown_worse(question.since):
        yield Reason(
            kind="measurement",
            sentence=f"the baseline's own configuration is worse than it was, {_ratio(each)}; "
            f"{_machines(question)}",
        )
    if control.standing == "misses":
        is_other = question.has("contract")
        yield Reason(
            kind="contract" if is_other else "measurement",
            sentence=f"{control.name} misses the contract"
            f"{', which is another one' if is_other else ' that it held'}: {control.why}",
        )
    if champion is None:
        return
    now, before = _apart(champion.facts, control.facts)
    for each in shown_worse(question.versions):
        yield Reason(
            kind="version",
            sentence=f"{champion.name} {now} is worse than {before}, {_ratio(each)}",
        )
    if champion.standing == "misses" and control.standing == "complies":
        words = f"{champion.name} {now} misses the contract: {champion.why}"
        yield Reason(kind="version", sentence=words)


def _machines(question: Question) -> str:
    control = question.baseline.control
    found = [
        f"its {each.what} was {each.before or 'not known'} and is {each.now or 'not known'}"
        for each in question.changes
        if each.candidate == control and each.kind == "measurement"
    ]
    return ", ".join(found) or _NOTHING_DIFFERS


def _stays(question: Question) -> str:
    others = [
        each.name
        for each in question.everybody
        if each.standing in _JUDGED and each.name not in question.baseline.family
    ]
    beside = f" beside {', '.join(sorted(others))}" if others else ""
    kept = "no difference is shown that would take the decision from it"
    if question.decision.outcome == "chosen":
        kept = "it is chosen again"
    return f"Measured again{beside}, {kept}."


def _notes(question: Question) -> Iterator[str]:
    """What is worth knowing and changes no answer."""
    control, champion = question.control, question.champion
    if champion is not None:
        now, before = _apart(champion.facts, control.facts)
        for each in question.versions:
            if each.word == "better":
                yield (
                    f"{champion.name} {now} is shown to be better than {before}, "
                    f"{_ratio(each)}."
                )
    for each in question.since:
        if each.word == "better":
            yield (
                f"The baseline's own configuration is better than it was, {_ratio(each)}; "
                f"{_machines(question)}."
            )


def _not_excluded(question: Question) -> Iterator[str]:
    """How much worse it may be without being shown: few or unsteady launches hide a loss."""
    for found in (question.versions, question.since):
        losses = [(loss, each) for each in found if (loss := _loss(each)) is not None]
        if not losses:
            continue
        loss, each = max(losses, key=lambda pair: pair[0])
        if loss > each.margin:
            yield (
                f"That {each.candidate} is {loss:.0%} worse than {each.against} is not "
                f"excluded ({metric_name(each.metric)}, 95% limit)."
            )


def _loss(each: Comparison) -> float | None:
    """The largest loss that the interval leaves, as a share; None without an interval."""
    if each.metric in _LESS_IS_BETTER:
        return None if each.ratio.high is None else each.ratio.high - 1
    return None if each.ratio.low is None else 1 - each.ratio.low


def _why_open(question: Question) -> str:
    lacking = _unjudged(question)
    if lacking is None:
        return question.decision.sentence
    what = f"as {_release(lacking.facts)} starts it today"
    if lacking is question.control:
        what = "the baseline's own configuration"
    return (
        f"of {lacking.name}, {what}, it is not shown whether it holds the contract "
        f"({lacking.standing}: {lacking.why})."
    )


def _ratio(each: Comparison) -> str:
    return f"{metric_name(each.metric)} is {ratio_phrase(each.ratio)} times that"


def _apart(champion: CandidateFacts, control: CandidateFacts) -> tuple[str, str]:
    """How the champion is told from its control: by release, else by how it is started."""
    now, before = _release(champion), _release(control)
    if now == before:
        return "as it is started today", "as the baseline started it"
    return f"with {now}", f"with {before}"


def _release(facts: CandidateFacts) -> str:
    return release_words(facts.runtime, facts.version) or "what it serves now"
