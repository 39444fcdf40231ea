"""An engine without an engine: each request keeps its own time, whatever the load.

First token after the prefill time of its prompt, then one step of a single sequence per
token. No queue, no batch, no KV cache: what a load generator is judged against, because
the truth does not depend on how many streams there are.
"""

from __future__ import annotations

import asyncio
import heapq
import time

from flows.rehearsal.engine import Engine
from flows.rehearsal.scheduler import Sequence, State
from flows.rehearsal.settings import Settings
from flows.rehearsal.timer import deadline

NS_PER_MS = 1_000_000


class IndependentEngine(Engine):
    """Hands out each sequence's tokens at times that depend on this sequence alone."""

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(settings, loop)
        model = settings.steps
        self._model = model
        self._due: list[tuple[int, int, Sequence]] = []
        self._pushed = 0
        self._armed_ns = 0
        one = model.step_ms(decode_sequences=1, context_tokens=0, prefill_tokens=0)
        self._token_ns = round(one * NS_PER_MS)
        self._alarm = deadline(loop, self._fire)

    def submit(self, sequence: Sequence) -> None:
        """Start a sequence's own clock at its arrival."""
        sequence.state = State.RUNNING
        self.scheduler.running.append(sequence)
        self.tally.admitted(sequence, sequence.arrived_ns)
        prefill_ms = self._model.step_ms(
            decode_sequences=0, context_tokens=0, prefill_tokens=sequence.prompt_tokens
        )
        self._push(sequence.arrived_ns + round(prefill_ms * NS_PER_MS), sequence)
        self._arm()

    def close(self) -> None:
        """Stop all clocks."""
        super().close()
        self._alarm.close()

    def _push(self, due_ns: int, sequence: Sequence) -> None:
        self._pushed += 1
        heapq.heappush(self._due, (due_ns, self._pushed, sequence))

    def _arm(self) -> None:
        if self._due and self._due[0][0] != self._armed_ns:
            self._armed_ns = self._due[0][0]
            self._alarm.set(self._armed_ns)

    def _fire(self) -> None:
        self._armed_ns = 0
        now_ns = time.monotonic_ns()
        while self._due and self._due[0][0] <= now_ns:
            due_ns, _, sequence = heapq.heappop(self._due)
            if sequence.state is State.RUNNING:
                self._emit(sequence, due_ns)
        self._arm()

    def _emit(self, sequence: Sequence, due_ns: int) -> None:
        sequence.generated += 1
        if sequence.is_complete:
            sequence.state = State.GONE
            self.scheduler.running.remove(sequence)
        self.tally.produced(sequence, 1, due_ns)
        if sequence.sink is not None:
            sequence.sink(1)
        if sequence.is_complete:
            self._end(sequence)
        elif sequence.state is State.RUNNING:
            self._push(due_ns + self._token_ns, sequence)
