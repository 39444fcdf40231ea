"""Answers on the fixed set held against the reference's, above what it differs from itself.

Where the reference hardly prefers one token to the next, either is an answer of its own, and
rounding alone decides. Equal next tokens are therefore judged where it is clear: where its
first token leads by half a nat (a factor of 1.65). The divergence is judged everywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import Final

from reports.quality.divergence import lead, listed_mass, truncated_kl
from reports.quality.paired import LEVEL, Loss, excess, loss
from reports.quality.tables import Answer, Who
from reports.run.plan_file import AgreementFacts
from reports.run.quality_file import AgreementFound, LossFound, QualityVerdict, SanityFound
from reports.stats.binomial import share_lower_bound

CLEAR_NATS: Final = 0.5
_REPEATED: Final = 8  # tokens; fewer may well be equal
_MORE_BAD: Final = 0.05  # of the answers, above the reference's share

_At = tuple[int, int]  # prompt, depth


def agreement_found(
    answers: Iterable[Answer], limits: AgreementFacts, *, miss_level: float = LEVEL
) -> AgreementFound | None:
    """Return how far the candidate's answers are the reference's; None without answers."""
    by_who = _by_who(answers)
    reference, again, ours = (by_who[who] for who in ("reference", "again", "candidate"))
    places = [at for at in reference if at in again and at in ours]
    prompts = sorted({prompt for prompt, depth in places if depth == 0})
    if not prompts:
        return None
    clear = [at for at in places if lead(reference[at].top) >= CLEAR_NATS and reference[at].top]
    parted = _Parted.of(reference, again, clear), _Parted.of(reference, ours, clear)
    with_lists = [at for at in places if reference[at].top and again[at].top and ours[at].top]
    kl_again, kl = _kl(reference, again, with_lists), _kl(reference, ours, with_lists)
    clear_excess = loss(_less(parted[1].shares, parted[0].shares), miss_level=miss_level)
    kl_excess = excess(_less(kl, kl_again), miss_level=miss_level)
    verdict, why = _judged(clear_excess, kl_excess, limits)
    firsts = [(prompt, 0) for prompt in prompts]
    return AgreementFound(
        prompts=len(prompts),
        positions=len(places),
        clear_positions=len(clear),
        first=1 - _Parted.of(reference, ours, firsts).share,
        first_again=1 - _Parted.of(reference, again, firsts).share,
        clear=1 - parted[1].share if clear else None,
        clear_again=1 - parted[0].share if clear else None,
        clear_excess=_found(clear_excess),
        kl=mean(kl.values()) if kl else None,
        kl_again=mean(kl_again.values()) if kl_again else None,
        kl_excess=_found(kl_excess),
        listed=mean(listed_mass(reference[at].top) for at in with_lists)
        if with_lists
        else None,
        identical=sum(
            ours[at].tokens in (reference[at].tokens, again[at].tokens) for at in firsts
        ),
        identical_again=sum(again[at].tokens == reference[at].tokens for at in firsts),
        parted_at=_parted_at(reference, ours, firsts),
        parted_at_again=_parted_at(reference, again, firsts),
        least_clear=limits.greedy,
        most_kl=limits.kl,
        verdict=verdict,
        why=why,
    )


def sanity_found(answers: Iterable[Answer], *, is_dummy: bool) -> SanityFound | None:
    """Return whether the candidate's answers are answers at all; None without any.

    A dummy's are none by intent. A miss needs proof that more than five points more of its
    answers are empty or one repeated token than of the reference's.
    """
    by_who = _by_who(answers)
    ours = [each.tokens for at, each in by_who["candidate"].items() if at[1] == 0]
    theirs = [each.tokens for at, each in by_who["reference"].items() if at[1] == 0]
    if not ours:
        return None
    empty, repeated = sum(map(_is_empty, ours)), sum(map(_is_repeated, ours))
    bad = sum(map(_is_empty, theirs)) + sum(map(_is_repeated, theirs))
    allowed = bad / max(len(theirs), 1) + _MORE_BAD
    is_bad = share_lower_bound(empty + repeated, len(ours)) > allowed
    return SanityFound(
        answers=len(ours),
        empty=empty,
        repeated=repeated,
        reference_bad=bad,
        verdict="not applicable" if is_dummy else "misses" if is_bad else "holds",
    )


def _found(found: Loss) -> LossFound:
    return LossFound(
        questions=found.questions,
        mean=found.mean,
        low=found.low,
        high=found.high,
        detectable=found.detectable,
    )


def _by_who(answers: Iterable[Answer]) -> defaultdict[Who, dict[_At, Answer]]:
    found: defaultdict[Who, dict[_At, Answer]] = defaultdict(dict)
    for each in answers:
        found[each.who][each.prompt, each.depth] = each
    return found


class _Parted:
    """At which of some positions the next tokens differ; ``shares`` are by prompt."""

    def __init__(self, differs: dict[_At, bool]) -> None:
        by_prompt: defaultdict[int, list[bool]] = defaultdict(list)
        for (prompt, _), is_other in differs.items():
            by_prompt[prompt].append(is_other)
        self.share = mean(differs.values()) if differs else 0.0
        self.shares = {prompt: mean(found) for prompt, found in by_prompt.items()}

    @classmethod
    def of(
        cls, reference: dict[_At, Answer], other: dict[_At, Answer], places: Sequence[_At]
    ) -> _Parted:
        return cls({at: other[at].tokens[:1] != reference[at].tokens[:1] for at in places})


def _kl(
    reference: dict[_At, Answer], other: dict[_At, Answer], places: Sequence[_At]
) -> dict[int, float]:
    """The mean divergence by prompt, in nats."""
    found: defaultdict[int, list[float]] = defaultdict(list)
    for at in places:
        found[at[0]].append(truncated_kl(reference[at].top, other[at].top))
    return {prompt: mean(values) for prompt, values in found.items()}


def _less(ours: dict[int, float], floor: dict[int, float]) -> list[float]:
    return [ours[prompt] - floor[prompt] for prompt in sorted(ours)]


def _judged(clear: Loss, kl: Loss, limits: AgreementFacts) -> tuple[QualityVerdict, str]:
    most = 1 - limits.greedy
    found = {
        f"next tokens differ at {_points(clear)} points more of the clear positions than the "
        f"reference's own, at most {most * 100:.3g} allowed": clear.verdict(most),
        f"divergence is {_nats(kl)} nats above the reference's own, at most "
        f"{limits.kl:.3g} allowed": kl.verdict(limits.kl),
    }
    for verdict in ("misses", "inconclusive"):
        which = [words for words, each in found.items() if each == verdict]
        if which:
            return verdict, "; ".join(which)
    return "holds", "; ".join(found)


def _points(found: Loss) -> str:
    return "unknown" if found.mean is None else _span(found, 100)


def _nats(found: Loss) -> str:
    return "unknown" if found.mean is None else _span(found, 1)


def _span(found: Loss, scale: float) -> str:
    middle = f"{(found.mean or 0.0) * scale:.3g}"
    if found.low is None or found.high is None:
        return middle
    return f"{middle} (95%: {found.low * scale:.3g} to {found.high * scale:.3g})"


def _parted_at(
    reference: dict[_At, Answer], other: dict[_At, Answer], firsts: Sequence[_At]
) -> float | None:
    """The median number of equal tokens before the first other one; None where none differ."""
    found = [
        _common(reference[at].tokens, other[at].tokens)
        for at in firsts
        if other[at].tokens != reference[at].tokens
    ]
    return float(median(found)) if found else None


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _is_empty(tokens: Sequence[str]) -> bool:
    return not "".join(tokens).strip()


def _is_repeated(tokens: Sequence[str]) -> bool:
    return len(tokens) >= _REPEATED and len(set(tokens)) == 1 and not _is_empty(tokens)
