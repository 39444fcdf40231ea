"""One cell of a load test as values: what is asked of the server, and how it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from catalog.lengths import Lengths
from flows.load.plan import Dialect, Endpoint

Process = Literal["poisson", "constant", "gamma", "closed", "trace"]
ItlStatistic = Literal["tpot", "p95_gap", "max_gap"]
WarmupMode = Literal["adaptive", "fixed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server: its addresses share the load, all of one dialect."""

    endpoints: tuple[Endpoint, ...]
    dialect: Dialect
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """When requests are sent.

    ``concurrency`` is the number of streams of a closed loop, else the cap on requests in
    flight (None: no cap). With a trace ``rate_per_s`` stretches or shrinks its time.
    """

    process: Process
    rate_per_s: float | None = None
    burstiness: float = 1.0
    concurrency: int | None = None
    trace: Path | None = None

    @property
    def is_open(self) -> bool:
        """True if requests come whether or not earlier ones have been answered."""
        return self.process != "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefix:
    """The common start of all prompts: a number of tokens, or a share of each prompt."""

    tokens: int | None = None
    share: float | None = None

    def of(self, prompt_tokens: int) -> int:
        """Tokens of a prompt of this length that are shared; one at least stays its own."""
        wanted = round((self.share or 0.0) * prompt_tokens)
        return min(self.tokens if self.tokens is not None else wanted, prompt_tokens - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is asked: lengths, sharing, recorded conversations.

    ``output`` None takes the recorded lengths of the trace or the dataset.
    """

    prompt: Lengths
    output: Lengths | None
    forced: bool = True
    shared: SharedPrefix | None = None
    dataset: Path | None = None
    think_ms: float = 0.0
    tokenizer: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much is measured: requests, warm-up counted in, or seconds after the warm-up."""

    requests: int | None
    duration_s: float | None
    warmup: WarmupMode
    warmup_requests: int

    def discarded(self, load: Load) -> int:
        """Requests of the warm-up at most; of a closed loop the first wave at least.

        Its C streams start all at once, which is no steady load; 0 discards nothing.
        """
        first_wave = 0 if load.is_open else load.concurrency or 0
        return max(self.warmup_requests, first_wave) if self.warmup_requests else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """The contract's limits; None is a clause that it does not have."""

    ttft_ms: float | None = None
    itl_ms: float | None = None
    itl_statistic: ItlStatistic = "tpot"
    goodput: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSpec:
    """One replication of one cell. Equal seeds ask every candidate the same."""

    run: str
    cell: str
    target: Target
    load: Load
    content: Content
    amount: Amount
    slo: Slo = Slo()
    replication: int = 0
    launch: str | None = None
    seed: int = 42
    temperature: float = 0.0
    timeout_s: float = 600.0
    shards: int = 1
