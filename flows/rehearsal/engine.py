"""The engine in real time: steps of the scheduler at absolute deadlines."""

from __future__ import annotations

import asyncio
import random
import time

from flows.rehearsal.pace import Pace
from flows.rehearsal.scheduler import Scheduler, Sequence, State, Step
from flows.rehearsal.settings import Settings
from flows.rehearsal.tally import Tally
from flows.rehearsal.timer import deadline


class Engine:
    """Runs the scheduler against the clock and hands each token to its sequence's sink.

    A step starts when the one before it was due, not when its tokens were written: lateness
    of this process does not add up. Only when it is a whole step behind does it start anew
    from now, and counts an overrun.
    """

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self.settings = settings
        self.scheduler = Scheduler(settings.engine, random.Random(f"{settings.seed}/drafts"))  # noqa: S311
        self.tally = Tally()
        self.overruns = 0
        self._pace = Pace(
            settings.steps,
            settings.engine,
            random.Random(f"{settings.seed}/pace"),  # noqa: S311
            time.monotonic_ns(),
        )
        self._timer = deadline(loop, self._tick)
        self._step: Step | None = None
        self._step_ends_ns = 0
        self._step_takes_ns = 0

    def submit(self, sequence: Sequence) -> None:
        """Queue a sequence; an idle engine starts with it at once."""
        self.scheduler.add(sequence)
        if self._step is None:
            self._begin(time.monotonic_ns())

    def abort(self, sequence: Sequence) -> None:
        """Drop a sequence whose answer was cut."""
        if sequence.state is not State.GONE:
            self.scheduler.abort(sequence)
            self.tally.finished["abort"] += 1

    def abandon(self, sequence: Sequence) -> None:
        """Drop a sequence whose client has left, unless this engine does not notice."""
        if not self.settings.engine.keeps_abandoned:
            self.abort(sequence)

    def close(self) -> None:
        """Stop stepping."""
        self._timer.close()

    def add_foreign(self) -> None:
        """Add the endless requests that belong to nobody here."""
        for _ in range(self.settings.foreign.streams):
            self._submit_foreign()

    def _submit_foreign(self) -> None:
        foreign = self.settings.foreign
        self.submit(
            Sequence(
                number=-1,
                prompt_tokens=foreign.prompt_tokens,
                output_tokens=foreign.output_tokens,
                arrived_ns=time.monotonic_ns(),
            )
        )

    def _begin(self, start_ns: int) -> None:
        self._step = step = self.scheduler.plan()
        if step is None:
            return
        for sequence in step.admitted:
            self.tally.admitted(sequence, start_ns)
        self._step_takes_ns = self._pace.duration_ns(step, start_ns)
        self._step_ends_ns = start_ns + self._step_takes_ns
        self._timer.set(self._step_ends_ns)

    def _tick(self) -> None:
        step = self._step
        if step is None:
            return
        self._count(step)
        now_ns = self._step_ends_ns
        for sequence, tokens in self.scheduler.commit(step):
            self.tally.produced(sequence, tokens, now_ns)
            if sequence.sink is not None:
                sequence.sink(tokens)
            if sequence.state is State.GONE:
                self._end(sequence)
        self._begin(self._next_start_ns())

    def _count(self, step: Step) -> None:
        tally = self.tally
        tally.steps += 1
        tally.sequence_steps += len(step.work)
        tally.prefill_tokens += step.prefill_tokens
        seconds = self._step_takes_ns / 1e9
        if step.prefill_tokens:
            tally.prefill_s += seconds
        else:
            tally.decode_s += seconds

    def _end(self, sequence: Sequence) -> None:
        if sequence.is_complete:
            self.tally.ended(sequence, sequence.finish_reason)
        if sequence.number < 0:
            self._submit_foreign()

    def _next_start_ns(self) -> int:
        now_ns = time.monotonic_ns()
        if now_ns - self._step_ends_ns > max(self._step_takes_ns, 1_000_000):
            self.overruns += 1
            return now_ns
        return self._step_ends_ns
