"""When a step ends: the step-time model with noise, cold starts and stalls of the engine."""

from __future__ import annotations

import math
import random

from flows.rehearsal.scheduler import Step
from flows.rehearsal.settings import EngineSettings
from flows.rehearsal.stepmodel import StepModel

NS_PER_MS = 1_000_000


class Pace:
    """Durations of successive steps; the same steps and seed give the same durations."""

    def __init__(
        self, model: StepModel, settings: EngineSettings, rng: random.Random, start_ns: int
    ) -> None:
        self._model = model
        self._settings = settings
        self._rng = rng
        self._seen_batches: set[int] = set()
        self._start_ns = start_ns
        self._stall_every_ns = round((settings.stall_every_s or 0.0) * 1e9)
        self._stall_for_ns = round(settings.stall_ms * NS_PER_MS)

    def duration_ns(self, step: Step, start_ns: int) -> int:
        """Nanoseconds from the start of a step to its tokens."""
        milliseconds = self._model.step_ms(
            decode_sequences=step.decode_sequences,
            context_tokens=step.context_tokens,
            prefill_tokens=step.prefill_tokens,
        )
        if self._model.noise:
            milliseconds *= math.exp(self._rng.gauss(0.0, self._model.noise))
        milliseconds += self._cold_ms(step) + self._new_shape_ms(step)
        duration = round(milliseconds * NS_PER_MS)
        return duration + self._stall_ns(start_ns, start_ns + duration)

    def _cold_ms(self, step: Step) -> float:
        cold = any(s.number < self._settings.cold_requests for s in step.admitted)
        return self._settings.cold_ms if cold else 0.0

    def _new_shape_ms(self, step: Step) -> float:
        if not self._settings.new_shape_ms or len(step.work) in self._seen_batches:
            return 0.0
        self._seen_batches.add(len(step.work))
        return self._settings.new_shape_ms

    def _stall_ns(self, start_ns: int, end_ns: int) -> int:
        """Part of the latest due stall that falls on a step which would end at `end_ns`."""
        if not self._stall_every_ns:
            return 0
        due_count = (end_ns - self._start_ns) // self._stall_every_ns
        if due_count < 1:
            return 0
        due_ns = self._start_ns + due_count * self._stall_every_ns
        return max(0, due_ns + self._stall_for_ns - max(start_ns, due_ns))
