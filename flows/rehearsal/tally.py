"""What the engine counts about itself: counters and histograms behind all metric dialects."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from flows.rehearsal.scheduler import Sequence

LATENCY_BUCKETS_S = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0),
)


@dataclass(slots=True)
class Histogram:
    """Counts of observations in seconds by upper bound, with their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_BUCKETS_S) + 1))
    total_s: float = 0.0

    def observe(self, seconds: float, times: int = 1) -> None:
        """Count an observation, `times` over."""
        self.counts[bisect_left(LATENCY_BUCKETS_S, seconds)] += times
        self.total_s += seconds * times

    @property
    def count(self) -> int:
        """Observations so far."""
        return sum(self.counts)

    def cumulative(self) -> list[tuple[str, int]]:
        """Return (upper bound, observations up to it) for each bucket, +Inf last."""
        bounds = [*map(str, LATENCY_BUCKETS_S), "+Inf"]
        seen = 0
        rows = []
        for bound, count in zip(bounds, self.counts, strict=True):
            seen += count
            rows.append((bound, seen))
        return rows


@dataclass(slots=True)
class Tally:
    """Counters since start, in the engine's own terms."""

    prompt_tokens: int = 0
    prefill_tokens: int = 0
    generation_tokens: int = 0
    steps: int = 0
    sequence_steps: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    aborted: int = 0
    finished: dict[str, int] = field(
        default_factory=lambda: {"stop": 0, "length": 0, "abort": 0}
    )
    queue: Histogram = field(default_factory=Histogram)
    ttft: Histogram = field(default_factory=Histogram)
    gap: Histogram = field(default_factory=Histogram)
    per_token: Histogram = field(default_factory=Histogram)
    e2e: Histogram = field(default_factory=Histogram)

    def admitted(self, sequence: Sequence, now_ns: int) -> None:
        """Count a sequence that leaves the queue for the first time."""
        if not sequence.scheduled_ns:
            sequence.scheduled_ns = now_ns
            self.prompt_tokens += sequence.prompt_tokens
            self.queue.observe((now_ns - sequence.arrived_ns) / 1e9)

    def produced(self, sequence: Sequence, tokens: int, now_ns: int) -> None:
        """Count new tokens of a sequence that appeared at this time."""
        self.generation_tokens += tokens
        if sequence.first_token_ns:
            self.gap.observe((now_ns - sequence.last_token_ns) / 1e9)
        else:
            sequence.first_token_ns = now_ns
            self.ttft.observe((now_ns - sequence.arrived_ns) / 1e9)
        sequence.last_token_ns = now_ns

    def ended(self, sequence: Sequence, reason: str) -> None:
        """Count a sequence that has produced its last token."""
        self.finished[reason] += 1
        self.e2e.observe((sequence.last_token_ns - sequence.arrived_ns) / 1e9)
        if sequence.generated > 1:
            decode_ns = sequence.last_token_ns - sequence.first_token_ns
            self.per_token.observe(decode_ns / 1e9 / (sequence.generated - 1))
