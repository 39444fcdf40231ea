"""From measured requests to equations in the five coefficients.

Tokens of one step reach their clients together, so an engine's steps can be counted from
outside: tokens that came at one instant were one step, those that are not a request's first are
the sequences that decoded in it, first tokens are prompts that ended with it. Of the step that
a request arrives in only the rest counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from catalog.predict.engine import Policy
from catalog.predict.work import Work

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_BLOCKS: Final = 40  # equations per cell and kind at most
_TOGETHER: Final = 0.25  # of a usual step: tokens that come so close were made together
QUANTILES: Final = (np.arange(20) + 0.5) / 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Requests of one cell that came through on one engine; times in seconds of one clock.

    The output chunks of request i came at ``times_s`` from ``offsets[i]`` to
    ``offsets[i + 1]``, its first one included, each with so many ``tokens``.
    """

    sent_s: Reals
    prompts: Reals
    times_s: Reals
    tokens: Reals
    offsets: Ints

    def __len__(self) -> int:
        return len(self.sent_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Equations ``x @ coefficients = y`` in seconds, of one cell.

    ``is_first`` are those of first tokens, the others of decoding; each is the mean of
    ``size`` requests. ``streams`` is the most that were in flight, ``jitter`` are equally
    likely factors of single gaps about their mean.
    """

    x: Reals
    y: Reals
    is_first: NDArray[np.bool_]
    size: Reals
    streams: float
    jitter: Reals


def rows_of(seen: Seen, work: Work, policy: Policy) -> Rows | None:
    """The equations of a cell; None where too little came through to say anything."""
    if len(seen) < 2:
        return None
    steps = _Steps.of(seen, work, policy)
    first_s, last_s = seen.times_s[seen.offsets[:-1]], seen.times_s[seen.offsets[1:] - 1]
    goes_on = last_s > first_s + steps.together_s
    kinds = (
        (steps.between(seen.sent_s, first_s), first_s - seen.sent_s, True),
        (steps.between(first_s, last_s)[goes_on], (last_s - first_s)[goes_on], False),
    )
    parts = [part for x, y, is_first in kinds for part in _blocks(x, y, is_first)]
    if not parts:
        return None
    x, y, is_first, size = (np.array(each) for each in zip(*parts, strict=True))
    return Rows(
        x=x,
        y=y,
        is_first=is_first,
        size=size,
        streams=_most_in_flight(seen.sent_s, last_s),
        jitter=_jitter(seen, steps),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """When steps ended, and up to each of them the sums of the five counts."""

    ends_s: Reals
    sums: Reals
    together_s: float

    @classmethod
    def of(cls, seen: Seen, work: Work, policy: Policy) -> _Steps:
        order = np.argsort(seen.times_s, kind="stable")
        times, tokens = seen.times_s[order], seen.tokens[order]
        is_first = np.zeros(len(times), dtype=bool)
        is_first[seen.offsets[:-1]] = True
        decoded = np.where(is_first[order], tokens - 1, tokens)
        together_s = _TOGETHER * _usual_gap(seen)
        number = np.cumsum(np.diff(times, prepend=times[0]) > together_s)
        count = int(number[-1]) + 1
        flops = np.zeros(len(times))
        flops[seen.offsets[:-1]] = [
            work.chunk(min(work.cached, int(prompt) - 1), int(prompt))
            for prompt in seen.prompts
        ]
        kv = decoded * _context(seen)[order] * work.kv_per_token
        made = np.zeros(count)  # steps that decode: several where chunks hold several tokens
        np.maximum.at(made, number, decoded)
        prompts = np.bincount(number, weights=is_first[order], minlength=count) > 0
        is_apart = prompts if policy == "prefill_first" else prompts & (made == 0)
        each = np.column_stack(
            (
                made,
                np.bincount(number, weights=decoded, minlength=count),
                np.bincount(number, weights=kv, minlength=count),
                is_apart,
                np.bincount(number, weights=flops[order], minlength=count),
            )
        )
        ends = np.zeros(count)
        ends[number] = times  # of each step its last token
        return cls(
            ends_s=ends,
            sums=np.concatenate((np.zeros((1, each.shape[1])), np.cumsum(each, axis=0))),
            together_s=together_s,
        )

    def between(self, begin: Reals, end: Reals) -> Reals:
        """The counts of the steps within spans; of one that was under way what was left."""
        low = np.searchsorted(self.ends_s, begin + self.together_s, side="right")
        high = np.searchsorted(self.ends_s, end, side="left") + 1
        high = np.clip(high, low, len(self.ends_s))
        whole = self.sums[high] - self.sums[low]
        at = np.minimum(low, len(self.ends_s) - 1)
        before = np.where(low > 0, self.ends_s[np.maximum(low - 1, 0)], begin)
        length = self.ends_s[at] - before
        over = np.where(length > 0, (begin - before) / np.where(length > 0, length, 1.0), 0.0)
        over = np.where((high - low > 1) & (begin - before > self.together_s), over, 0.0)
        over = np.where(self._idle(low), 0.0, np.clip(over, 0.0, 1.0))
        part = self.sums[np.minimum(low + 1, len(self.ends_s))] - self.sums[low]
        found: Reals = whole - over[:, None] * part
        return found

    def _idle(self, low: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether the next step to end holds no decode: nobody knows when it began."""
        after = np.minimum(low + 1, len(self.ends_s))
        idle: NDArray[np.bool_] = (self.sums[after] - self.sums[low])[:, 1] <= 0
        return idle


def _usual_gap(seen: Seen) -> float:
    """Median time per token of what follows a first chunk; 0 where nothing does."""
    gaps = np.diff(seen.times_s)
    follows = np.ones(len(seen.times_s), dtype=bool)
    follows[seen.offsets[:-1]] = False
    per_token = gaps[follows[1:]] / np.maximum(seen.tokens[1:][follows[1:]], 1.0)
    return float(np.median(per_token)) if len(per_token) else 0.0


def _context(seen: Seen) -> Reals:
    """Of each chunk the tokens of KV that its step read: the prompt and what was made."""
    total = np.cumsum(seen.tokens)
    lengths = np.diff(seen.offsets)
    before = np.repeat(total[seen.offsets[:-1]] - seen.tokens[seen.offsets[:-1]], lengths)
    made = total - before
    return np.repeat(seen.prompts, lengths) + made - seen.tokens


def _most_in_flight(sent_s: Reals, last_s: Reals) -> float:
    times = np.concatenate((last_s, sent_s))  # who ends makes room for who begins
    changes = np.concatenate((-np.ones(len(sent_s)), np.ones(len(sent_s))))
    return float(np.max(np.cumsum(changes[np.argsort(times, kind="stable")])))


def _blocks(x: Reals, y: Reals, is_first: bool) -> Iterator[tuple[Reals, float, bool, float]]:
    """Means over consecutive requests: sums keep what is linear, and neighbours share noise."""
    for each in np.array_split(np.arange(len(y)), max(1, min(_BLOCKS, len(y)))):
        mean = float(np.mean(y[each])) if len(each) else 0.0
        if mean > 0:
            yield np.mean(x[each], axis=0), mean, is_first, float(len(each))


def _jitter(seen: Seen, steps: _Steps) -> Reals:
    """Equally likely factors of a gap about what is usual for as many streams.

    Gaps in which a prompt was computed are left out, since the model knows of those, and so
    are chunks of several tokens, which say nothing of single steps.
    """
    number = np.searchsorted(steps.ends_s, seen.times_s, side="left")
    gaps = np.diff(seen.times_s, prepend=seen.times_s[0])
    follows = np.ones(len(gaps), dtype=bool)
    follows[seen.offsets[:-1]] = False
    plain = np.diff(steps.sums[:, 4]) == 0
    streams = np.diff(steps.sums[:, 1])
    usable = follows & (seen.tokens == 1) & (np.diff(number, prepend=-1) == 1) & plain[number]
    at = streams[number]
    found = [
        gaps[chosen] / np.median(gaps[chosen])
        for count in np.unique(at[usable])
        if np.sum(chosen := usable & (at == count)) >= len(QUANTILES)
    ]
    if not found or min(np.median(gaps[usable]), 1) <= 0:
        return np.ones(1)
    spread: Reals = np.quantile(np.concatenate(found), QUANTILES)
    return spread / np.mean(spread)
