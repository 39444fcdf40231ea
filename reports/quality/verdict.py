"""The verdict on a candidate's quality, from its answers and its scores alone.

Identical greedy answers on the whole set hold any clause. Else every part that the contract
names must: its limits on the set, and for each task the one-sided bound of the loss. One that
is proven to miss decides; whatever is open leaves it inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import sqrt
from statistics import mean, stdev
from typing import Final

from catalog.fixed_prompts import LEAST
from reports.quality.agreement import agreement_found, sanity_found
from reports.quality.paired import LEVEL, loss, mcnemar, needed
from reports.quality.tables import Answer, Sample
from reports.run.plan_file import AgreementFacts, QualityFacts
from reports.run.quality_file import (
    AgreementFound,
    LossFound,
    QualityFile,
    QualityVerdict,
    SanityFound,
    TaskFound,
)
from reports.stats.binomial import share_lower_bound

MARGIN_POINTS: Final = 1.0  # where the contract states none
_MOST_BAD: Final = 0.5  # of the reference's answers

_Part = tuple[QualityVerdict, str]


def assessed(
    file: QualityFile,
    answers: Sequence[Answer],
    samples: Sequence[Sample],
    asked: QualityFacts,
) -> QualityFile:
    """Return the record with everything that follows from answers and scores."""
    tests = len(asked.tasks) + (2 if asked.agreement is not None else 0)
    miss_level = 1 - (1 - LEVEL) / max(tests, 1)
    limits = asked.agreement or AgreementFacts()
    found = file.model_copy(
        update={
            "agreement": agreement_found(answers, limits, miss_level=miss_level),
            "sanity": sanity_found(answers, is_dummy=file.is_dummy),
            "tasks": tuple(_tasks(samples, asked, miss_level)),
        }
    )
    verdict, why = _verdict(found, asked)
    return found.model_copy(update={"verdict": verdict, "why": why})


def _verdict(found: QualityFile, asked: QualityFacts) -> _Part:
    plain = _insane(found.sanity) or _identical(found)
    if plain is not None:
        return plain
    parts = tuple(_parts(found, asked))
    if not parts:
        return "inconclusive", "its answers differ, and the contract names no task and no limit"
    for verdict in ("misses", "inconclusive"):
        why = [words for each, words in parts if each == verdict]
        if why:
            return verdict, "; ".join(why)
    return "holds", "; ".join(words for _, words in parts)


def _insane(sanity: SanityFound | None) -> _Part | None:
    """What answers that are none decide."""
    if sanity is None or sanity.verdict == "not applicable":
        return None
    if sanity.reference_bad > sanity.answers * _MOST_BAD:
        return "inconclusive", (
            f"{sanity.reference_bad} of the reference's own answers are empty or one "
            "repeated token: it is no reference"
        )
    if sanity.verdict == "misses":
        return "misses", (
            f"{sanity.empty + sanity.repeated} of {sanity.answers} answers are empty or one "
            f"repeated token, of the reference's {sanity.reference_bad}"
        )
    return None


def _identical(found: QualityFile) -> _Part | None:
    """What equal answers on the whole set decide."""
    agreement = found.agreement
    if agreement is None or agreement.prompts < LEAST:
        return None
    if found.is_reference:
        return "holds", f"it is the reference; it {_itself(agreement)}"
    if agreement.identical == agreement.prompts:
        return "holds", f"identical greedy answers on {agreement.prompts} prompts"
    return None


def _itself(agreement: AgreementFound) -> str:
    return f"repeats itself on {agreement.identical_again} of {agreement.prompts} prompts"


def _parts(found: QualityFile, asked: QualityFacts) -> Iterator[_Part]:
    agreement, by_task = found.agreement, {each.task: each for each in found.tasks}
    if asked.agreement is not None:
        if agreement is None:
            yield "inconclusive", "nothing was answered on the fixed set"
        elif agreement.prompts < LEAST:
            few = f"only {agreement.prompts} of at least {LEAST} prompts were answered"
            yield "inconclusive", few
        else:
            yield agreement.verdict, agreement.why
    for task in asked.tasks:
        each = by_task.get(task)
        yield ("inconclusive", f"{task} was not measured") if each is None else _words(each)


def _words(task: TaskFound) -> _Part:
    lost = task.loss
    words = f"{task.task} loses {(lost.mean or 0.0) * 100:.3g} points"
    if lost.low is not None and lost.high is not None:
        words += f" (95%: {lost.low * 100:.3g} to {lost.high * 100:.3g})"
    words += f" over {task.questions} questions, at most {task.limit * 100:.3g} allowed"
    if task.verdict == "inconclusive" and lost.high is not None and lost.high <= task.limit:
        return task.verdict, (
            f"{words}; but the reference itself scores {task.reference * 100:.3g}%: it has "
            "nothing to lose"
        )
    if task.verdict == "inconclusive" and task.needed is not None:
        words += f"; about {task.needed:,} questions prove that nothing is lost"
    return task.verdict, words


def _tasks(
    samples: Sequence[Sample], asked: QualityFacts, miss_level: float
) -> Iterator[TaskFound]:
    margin = MARGIN_POINTS if asked.margin_points is None else asked.margin_points
    limit = (asked.max_loss + margin) / 100
    ordered = sorted(samples, key=lambda each: each.task)
    for task, group in groupby(ordered, key=lambda each: each.task):
        rows = tuple(group)
        differences = [each.reference - each.candidate for each in rows]
        lost = loss(differences, miss_level=miss_level)
        differing = sum(each * each for each in differences) / len(rows)
        able = share_lower_bound(sum(each.reference for each in rows), len(rows)) > limit
        yield TaskFound(
            task=task,
            kind="log-likelihood" if rows[0].kind == "log-likelihood" else "generation",
            metric=rows[0].metric,
            questions=len(rows),
            reference=mean(each.reference for each in rows),
            reference_stderr=_error([each.reference for each in rows]),
            candidate=mean(each.candidate for each in rows),
            candidate_stderr=_error([each.candidate for each in rows]),
            loss=LossFound(
                questions=lost.questions,
                mean=lost.mean,
                low=lost.low,
                high=lost.high,
                detectable=lost.detectable,
            ),
            p_value=mcnemar(differences),
            limit=limit,
            needed=needed(limit, differing) if able and limit > 0 else None,
            # a reference that scores no more than may be lost shows nothing of anybody
            verdict=lost.verdict(limit) if able else "inconclusive",
        )


def _error(scores: Sequence[float]) -> float | None:
    return stdev(scores) / sqrt(len(scores)) if len(scores) > 1 else None
