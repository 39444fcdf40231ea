"""The rehearsal engine in virtual time: its own scheduler, pace and KV blocks, no sockets.

What takes minutes against a clock takes milliseconds, and the same seed gives the same times.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

import numpy as np

from catalog.predict import Limits, Load, Seen
from catalog.predict.engine import TURNAROUND_S
from catalog.predict.load import Drawn
from flows.rehearsal.pace import Pace
from flows.rehearsal.scheduler import Scheduler, Sequence
from flows.rehearsal.settings import EngineSettings
from flows.rehearsal.stepmodel import StepModel
from reports.cell.clauses import percentile_clause

_NS = 1e9


@dataclass(frozen=True, kw_only=True)
class Served:
    """When each request was due and when its tokens came, in seconds of virtual time."""

    due_s: np.ndarray
    tokens_s: list[np.ndarray]
    drawn: Drawn

    @property
    def ttft_s(self) -> np.ndarray:
        return np.array([times[0] for times in self.tokens_s]) - self.due_s

    @property
    def last_s(self) -> np.ndarray:
        return np.array([times[-1] for times in self.tokens_s])

    @property
    def tpot_s(self) -> np.ndarray:
        return np.array([(t[-1] - t[0]) / max(1, len(t) - 1) for t in self.tokens_s])

    @property
    def gaps_s(self) -> np.ndarray:
        return np.concatenate([np.diff(times) for times in self.tokens_s])

    def seen(self) -> Seen:
        """What a client saw of it."""
        lengths = [len(times) for times in self.tokens_s]
        return Seen(
            sent_s=self.due_s,
            prompts=np.array(self.drawn.prompts, dtype=float),
            times_s=np.concatenate(self.tokens_s),
            tokens=np.ones(sum(lengths)),
            offsets=np.concatenate(([0], np.cumsum(lengths))),
        )


def served(
    settings: EngineSettings, model: StepModel, drawn: Drawn, load: Load, seed: int = 1
) -> Served:
    """All requests of a load, served one step after another."""
    scheduler = Scheduler(settings, random.Random(seed))
    pace = Pace(model, settings, random.Random(seed), 0)
    count, now, sent, done = len(drawn.due_s), 0, 0, 0
    due_s = np.array(drawn.due_s)
    tokens: list[list[float]] = [[] for _ in range(count)]
    limit = load.most_in_flight or count
    freed_s = deque([0.0] * min(limit, count))  # when a closed loop's next requests come
    while done < count:
        while sent < count and sent - done < limit:
            if load.process == "closed":
                due_s[sent] = freed_s[0]
            if due_s[sent] * _NS > now:
                break
            if load.process == "closed":
                freed_s.popleft()
            scheduler.add(
                Sequence(
                    number=sent,
                    prompt_tokens=drawn.prompts[sent],
                    output_tokens=drawn.outputs[sent],
                )
            )
            sent += 1
        step = scheduler.plan()
        if step is None:
            now = int(due_s[sent] * _NS) + 1
            continue
        now += pace.duration_ns(step, now)
        for sequence, made in scheduler.commit(step):
            tokens[sequence.number] += [now / _NS] * made
            if sequence.is_complete:
                done += 1
                freed_s.append(now / _NS + TURNAROUND_S)
    return Served(due_s=due_s, tokens_s=[np.array(each) for each in tokens], drawn=drawn)


def verdict(served_: Served, load: Load, limits: Limits) -> str:
    """What the cell says of the contract by its one-sided 95% limits, as a searched level's."""
    measured = slice(load.warm_up, None)
    values = {"ttft": (served_.ttft_s, limits.ttft_s), "itl": (served_.tpot_s, limits.itl_s)}
    said = {
        percentile_clause(
            name, seconds[measured] * 1e3, 0, None if s is None else s * 1e3, limits.percentile
        ).verdict
        for name, (seconds, s) in values.items()
    } - {"no such clause"}
    if "misses" in said:
        return "misses"
    return "holds" if said == {"holds"} else "inconclusive"
