"""Iteration-level continuous batching as pure state: no clock, no sockets.

A sequence needs the KV of all its known tokens (prompt and what was generated) before its
next token is sampled. A step computes some of these for some sequences: one that lacks only
its newest token decodes, all others are prefilled in chunks.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from flows.rehearsal.blocks import BlockPool
from flows.rehearsal.settings import EngineSettings


class State(Enum):
    """Where a sequence stands."""

    WAITING = 1
    RUNNING = 2
    GONE = 3


@dataclass(slots=True, kw_only=True, eq=False)
class Sequence:
    """One stream of tokens on its way through the engine."""

    number: int
    prompt_tokens: int
    output_tokens: int
    arrived_ns: int = 0
    block_hashes: tuple[int, ...] = ()
    finish_reason: str = "length"  # how it ends once complete
    sink: Callable[[int], None] | None = None  # told of each step's count of new tokens
    state: State = State.WAITING
    computed: int = 0
    generated: int = 0
    blocks: list[int] = field(default_factory=list)
    cached_tokens: int = 0
    preemptions: int = 0
    scheduled_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0

    @property
    def remaining(self) -> int:
        """Tokens to compute before the next one is sampled: 1 while it decodes."""
        return self.prompt_tokens + self.generated - self.computed

    @property
    def decodes(self) -> bool:
        """Whether only its newest token's KV is missing."""
        return self.generated > 0 and self.remaining == 1

    @property
    def is_complete(self) -> bool:
        """Whether all its output tokens are generated."""
        return self.generated >= self.output_tokens


Work = list[tuple[Sequence, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One iteration: how many tokens each sequence computes, and the sums that cost time."""

    work: Work
    admitted: tuple[Sequence, ...]
    decode_sequences: int
    context_tokens: int
    prefill_tokens: int


class Scheduler:
    """Waiting queue, running batch and KV blocks under a token budget per step."""

    def __init__(self, settings: EngineSettings, rng: random.Random) -> None:
        self.settings = settings
        self.rng = rng
        self.pool = BlockPool(settings.kv_blocks)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.preemptions = 0
        self.prefix_queries = 0
        self.prefix_hits = 0

    def add(self, sequence: Sequence) -> None:
        """Put a new sequence at the end of the waiting queue."""
        self.waiting.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        """Forget a sequence wherever it stands and free its blocks."""
        if sequence.state is State.RUNNING:
            self.running.remove(sequence)
            self._free(sequence)
        elif sequence.state is State.WAITING:
            self.waiting.remove(sequence)
        sequence.state = State.GONE

    def plan(self) -> Step | None:
        """Return the next step's work, or None when there is nothing to do."""
        preemptions = self.preemptions
        prefill_first = self.settings.scheduler == "prefill_first"
        batch = self.running
        if prefill_first:
            batch = [sequence for sequence in batch if not sequence.decodes]
        work = self._continue(batch)
        admitted = self._admit(work) if self.preemptions == preemptions else ()
        if prefill_first and not work:
            work = self._continue(self.running)
        return _step(work, admitted) if work else None

    def commit(self, step: Step) -> Work:
        """Sequences with their new tokens once the step's time has passed, oldest first."""
        produced = []
        for sequence, tokens in step.work:
            if sequence.state is State.RUNNING:
                sampled = self._advance(sequence, tokens)
                if sampled:
                    produced.append((sequence, sampled))
        for sequence, _ in produced:
            if sequence.is_complete:
                sequence.state = State.GONE
                self._free(sequence)
        self.running = [s for s in self.running if s.state is State.RUNNING]
        return produced

    def _continue(self, batch: list[Sequence]) -> Work:
        """Work for running sequences, oldest first; the newest make room where it lacks."""
        work: Work = []
        budget = self.settings.token_budget
        drafts = self.settings.tokens_per_step - 1
        for sequence in list(batch):
            if sequence.state is not State.RUNNING or budget <= 0:
                continue
            wanted = sequence.remaining
            if drafts and sequence.decodes:
                wanted += min(drafts, sequence.output_tokens - sequence.generated - 1)
            tokens = min(wanted, budget)
            if self._make_room(sequence, tokens):
                work.append((sequence, tokens))
                budget -= tokens
        return work

    def _make_room(self, sequence: Sequence, tokens: int) -> bool:
        """Whether blocks were found, by preempting the newest; False if that was itself."""
        while not self._reserve(sequence, tokens):
            newest = self.running[-1]
            self._preempt(newest)
            if newest is sequence:
                return False
        return True

    def _admit(self, work: Work) -> tuple[Sequence, ...]:
        """Extend the work by waiting sequences, first come first served, while all fits."""
        budget = self.settings.token_budget - sum(tokens for _, tokens in work)
        admitted = []
        while self.waiting and budget > 0 and len(self.running) < self.settings.max_num_seqs:
            sequence = self.waiting[0]
            tokens = self._start(sequence, budget)
            if not tokens:
                break
            self.waiting.popleft()
            sequence.state = State.RUNNING
            self.running.append(sequence)
            admitted.append(sequence)
            work.append((sequence, tokens))
            budget -= tokens
        return tuple(admitted)

    def _start(self, sequence: Sequence, budget: int) -> int:
        """Tokens of a waiting sequence's first step, its blocks taken; 0 if they lack."""
        usable = (sequence.remaining - 1) // self.settings.block_tokens
        cached = self.pool.match(sequence.block_hashes[:usable])
        sequence.computed = len(cached) * self.settings.block_tokens
        self.pool.hold(cached)
        sequence.blocks = cached
        tokens = min(sequence.remaining, budget)
        if not self._reserve(sequence, tokens):
            self._free(sequence)
            return 0
        if not sequence.preemptions:
            sequence.cached_tokens = sequence.computed
            self.prefix_queries += sequence.prompt_tokens
            self.prefix_hits += sequence.computed
        return tokens

    def _reserve(self, sequence: Sequence, tokens: int) -> bool:
        """Whether the sequence now holds the blocks for so many more tokens."""
        size = self.settings.block_tokens
        lacking = -(-(sequence.computed + tokens) // size) - len(sequence.blocks)
        if lacking > self.pool.available:
            return False
        if lacking > 0:
            sequence.blocks += self.pool.take(lacking)
        return True

    def _preempt(self, sequence: Sequence) -> None:
        """Back to the head of the queue; all its KV is to be computed again."""
        self.running.remove(sequence)
        self._free(sequence)
        sequence.state = State.WAITING
        sequence.preemptions += 1
        self.preemptions += 1
        self.waiting.appendleft(sequence)

    def _free(self, sequence: Sequence) -> None:
        self.pool.release(sequence.blocks)
        sequence.blocks = []
        sequence.computed = 0

    def _advance(self, sequence: Sequence, tokens: int) -> int:
        """Count the step's tokens as computed; returns how many new ones were sampled."""
        if sequence.decodes:
            sampled = 1 + self._accepted_drafts(tokens - 1)
            sequence.computed += sampled
        else:
            self._publish(sequence, tokens)
            sequence.computed += tokens
            sampled = 1 if sequence.remaining == 0 else 0
        sequence.generated += sampled
        return sampled

    def _accepted_drafts(self, drafts: int) -> int:
        accepted = 0
        while accepted < drafts and self.rng.random() < self.settings.acceptance:
            accepted += 1
        return accepted

    def _publish(self, sequence: Sequence, tokens: int) -> None:
        size = self.settings.block_tokens
        first, end = sequence.computed // size, (sequence.computed + tokens) // size
        for index in range(first, min(end, len(sequence.block_hashes))):
            self.pool.publish(sequence.blocks[index], sequence.block_hashes[index])


def _step(work: Work, admitted: tuple[Sequence, ...]) -> Step:
    decode_sequences = context_tokens = prefill_tokens = 0
    for sequence, tokens in work:
        if sequence.decodes:
            decode_sequences += 1
            context_tokens += sequence.computed + 1
        else:
            prefill_tokens += tokens
    return Step(
        work=work,
        admitted=admitted,
        decode_sequences=decode_sequences,
        context_tokens=context_tokens,
        prefill_tokens=prefill_tokens,
    )
