"""Continuous batching, iteration by iteration, in virtual time.

Between two events (an arrival, a first token, an end) a batch that only decodes does not
change: its steps are taken together, since their time grows evenly with their context. What
remains to be stepped one by one are those that compute prompts, so that a cell of hundreds of
requests takes some milliseconds.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from catalog.predict.load import Drawn
from catalog.predict.steps import StepTimes

Policy = Literal["mixed", "prefill_first"]
_FEW: Final = 1e-12
TURNAROUND_S: Final = 2e-4  # from a closed loop's last token to its next request at the server


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How an engine schedules.

    ``mixed`` computes chunks of prompts beside decodes within ``token_budget`` tokens per
    step; ``prefill_first`` lets prompts stop decodes. ``kv_tokens`` is what its cache holds
    (None: more than is ever needed). ``engines`` share the load of a candidate evenly.
    """

    policy: Policy = "mixed"
    max_sequences: int = 256
    token_budget: int = 8192
    kv_tokens: int | None = None
    engines: int = 1


@dataclass(slots=True)
class Stretch:
    """Decode steps of one batch in a row: how many, how long each, for how many sequences.

    ``stalled_s`` was spent on prompts before the first of them, while ``old`` sequences of
    the batch waited.
    """

    first_step: int
    steps: int
    step_s: float
    sequences: int
    stalled_s: float = 0.0
    old: int = 0


@dataclass(slots=True)
class Course:
    """What became of each request: seconds of virtual time, and its steps' numbers."""

    due_s: list[float]
    first_s: list[float]
    last_s: list[float]
    joined: list[int]
    left: list[int]
    stretches: list[Stretch] = field(default_factory=list)
    preemptions: int = 0
    peak_sequences: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """By what factors steps differ from the model, in the order in which they come up.

    ``prefill`` are those of steps that compute prompts. ``decode`` are those of a request's
    whole decoding: a slow machine stays slow for a while.
    """

    prefill: Sequence[float] = (1.0,)
    decode: Sequence[float] = (1.0,)


NO_NOISE: Final = Noise()


def run(
    engine: Engine,
    times: StepTimes,
    drawn: Drawn,
    *,
    most_in_flight: int | None,
    is_closed: bool,
    noise: Noise = NO_NOISE,
) -> Course:
    """The course of a cell's requests through the engine."""
    count = len(drawn.due_s)
    seen = Course(
        due_s=list(drawn.due_s),
        first_s=[math.nan] * count,
        last_s=[math.nan] * count,
        joined=[0] * count,
        left=[0] * count,
    )
    return _Run(
        engine=engine,
        times=times,
        drawn=drawn,
        seen=seen,
        limit=count if most_in_flight is None else most_in_flight,
        is_closed=is_closed,
        noise=noise,
        prompt_done=[0] * count,
        made=[0] * count,
        freed_s=deque([0.0] * min(count, most_in_flight or count) if is_closed else ()),
        base_tokens=[0] * count,
    ).course()


@dataclass(slots=True, kw_only=True)
class _Run:
    """One cell on its way.

    ``made`` are tokens that a preempted request had already, ``base_tokens`` its KV when it
    joined less the number of the step, ``freed_s`` when a closed loop's next requests come,
    ``ends`` the last step and request of all that decode, ``batch`` those (oldest first) and
    ``tokens`` their KV, ``ended`` prompts that the step under way completes.
    """

    engine: Engine
    times: StepTimes
    drawn: Drawn
    seen: Course
    limit: int
    is_closed: bool
    noise: Noise
    prompt_done: list[int]
    made: list[int]
    base_tokens: list[int]
    freed_s: deque[float]
    now: float = 0.0
    step: int = 0
    prefilled: int = 0
    next: int = 0
    done: int = 0
    waiting: deque[int] = field(default_factory=deque)
    prefilling: deque[int] = field(default_factory=deque)
    ended: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    batch: dict[int, None] = field(default_factory=dict)
    tokens: float = 0.0
    stalled: float = 0.0
    decoding: int = 0

    def course(self) -> Course:
        count = len(self.drawn.due_s)
        while self.done < count:
            self._arrive()
            if self.prefilling or self._admissible():
                self._prefill()
            elif self.batch:
                self._decode()
            else:
                self.now = max(self.now, self._next_due_s() or 0.0)
        return self.seen

    def _next_due_s(self) -> float | None:
        """When the next request can come; None: not before another one has ended."""
        if self.next >= len(self.drawn.due_s):
            return None
        if self.is_closed:
            return self.freed_s[0] if self.freed_s else None
        return self.drawn.due_s[self.next] if self.next - self.done < self.limit else None

    def _arrive(self) -> None:
        while (due_s := self._next_due_s()) is not None and due_s <= self.now:
            if self.is_closed:
                self.seen.due_s[self.next] = self.freed_s.popleft()
            self.waiting.append(self.next)
            self.next += 1

    def _admissible(self) -> bool:
        """Whether the first that waits can begin: a sequence and its KV are free."""
        if not self.waiting:
            return False
        computed = len(self.prefilling) + len(self.ended)
        if len(self.batch) + computed >= self.engine.max_sequences:
            return False
        held = self.engine.kv_tokens
        if held is None:
            return True
        request = self.waiting[0]
        needs = self.drawn.prompts[request] + self.made[request] + 1
        used = self.tokens + sum(map(self._prompt, (*self.prefilling, *self.ended)))
        return used + len(self.batch) + needs <= held or not (self.batch or computed)

    def _prompt(self, request: int) -> int:
        return self.drawn.prompts[request] + self.made[request]

    def _prefill(self) -> None:
        """One step that computes prompts, beside decodes where the policy mixes."""
        is_mixed = self.engine.policy == "mixed"
        sequences = len(self.batch) if is_mixed else 0
        budget = max(1, self.engine.token_budget - sequences)
        flops = 0.0
        while budget > 0:
            if not self.prefilling:
                if not self._admissible():
                    break
                request = self.waiting.popleft()
                self.prompt_done[request] = min(
                    self.times.work.cached, self._prompt(request) - 1
                )
                self.prefilling.append(request)
            request = self.prefilling[0]
            begin, whole = self.prompt_done[request], self._prompt(request)
            end = min(whole, begin + budget)
            budget -= end - begin
            flops += self.times.work.chunk(begin, end)
            self.prompt_done[request] = end
            if end == whole:
                self.prefilling.popleft()
                self.ended.append(request)
        context = self.tokens if sequences else 0.0
        factors = self.noise.prefill
        factor = factors[self.prefilled % len(factors)]
        takes = self.times.step_s(sequences, context, flops, factor)
        self.prefilled += 1
        self.now += takes
        if sequences:
            self._stretch(1, takes)
        else:
            self.stalled += takes
            self.decoding = min(self.decoding, len(self.batch))
        ended, self.ended = self.ended, []
        for request in ended:
            self._join(request)

    def _join(self, request: int) -> None:
        """Its first token is there (or the next one of a preempted request)."""
        if self.made[request] == 0:
            self.seen.first_s[request] = self.now
            self.seen.joined[request] = self.step
        made = self.made[request] = self.made[request] + 1
        left = self.drawn.outputs[request] - made
        if left <= 0:
            self._end(request)
            return
        self.batch[request] = None
        context = self.drawn.prompts[request] + made
        self.tokens += context
        self.base_tokens[request] = context - self.step
        heapq.heappush(self.ends, (self.step + left, request))
        self.seen.peak_sequences = max(self.seen.peak_sequences, len(self.batch))

    def _decode(self) -> None:
        """Steps of an unchanging batch until somebody ends, arrives, or memory is short."""
        sequences, times = len(self.batch), self.times
        most = self.ends[0][0] - self.step
        held = self.engine.kv_tokens
        if held is not None and self.tokens + sequences * most > held and sequences > 1:
            most = int((held - self.tokens) // sequences)
            if most < 1:
                self._preempt()
                return
        first = times.step_s(sequences, self.tokens, 0.0, self._factor())
        steps, mean = most, self._mean_s(first, most)
        due_s = self._awaited_s()
        if due_s is not None:
            until = due_s - self.now
            while steps > 1 and (fewer := math.ceil(until / max(mean, _FEW))) < steps:
                steps = max(fewer, steps // 2, 1)  # steps grow longer: fewer may be too few
                mean = self._mean_s(first, steps)
            while steps < most and steps * mean < until:
                steps += 1
                mean = self._mean_s(first, steps)
        self.now += steps * mean
        self._stretch(steps, mean)

    def _mean_s(self, first: float, steps: int) -> float:
        """Mean time of so many steps of the batch as it is, of which the first is known."""
        sequences = len(self.batch)
        context = self.tokens + sequences * (steps - 1)
        last = self.times.step_s(sequences, context, 0.0, self._factor())
        return (first + last) / 2

    def _factor(self) -> float:
        """How the machine decodes at the time: the same for as long as a request lives."""
        factors = self.noise.decode
        return factors[self.prefilled // max(1, len(self.batch)) % len(factors)]

    def _awaited_s(self) -> float | None:
        """When somebody comes who could begin at once: only that ends a stretch."""
        if self.waiting or len(self.batch) >= min(self.engine.max_sequences, self.limit):
            return None
        return self._next_due_s()

    def _stretch(self, steps: int, step_s: float) -> None:
        """Account for decode steps, and take out whoever has ended with them."""
        sequences = len(self.batch)
        self.seen.stretches.append(
            Stretch(self.step, steps, step_s, sequences, self.stalled, self.decoding)
        )
        self.stalled = 0.0
        self.step += steps
        self.tokens += sequences * steps
        while self.ends and self.ends[0][0] <= self.step:
            request = heapq.heappop(self.ends)[1]
            del self.batch[request]
            self.tokens -= self.base_tokens[request] + self.step
            self._end(request)
        self.decoding = len(self.batch)

    def _end(self, request: int) -> None:
        self.seen.last_s[request] = self.now
        self.seen.left[request] = self.step
        self.done += 1
        if self.is_closed:
            self.freed_s.append(self.now + TURNAROUND_S)

    def _preempt(self) -> None:
        """The newest makes room; all its KV is computed again."""
        request = next(reversed(self.batch))
        del self.batch[request]
        self.tokens -= self.base_tokens[request] + self.step
        left = next(end for end, each in self.ends if each == request) - self.step
        self.ends = [entry for entry in self.ends if entry[1] != request]
        heapq.heapify(self.ends)
        self.made[request] = self.drawn.outputs[request] - left
        self.waiting.appendleft(request)
        self.seen.preemptions += 1
        self.decoding = min(self.decoding, len(self.batch))
