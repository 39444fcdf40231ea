"""What a cell was asked to be, and what the run says of itself beside its requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reports.stats.arrivals import Process

ItlStatistic = Literal["tpot", "p95_gap", "max_gap"]
ITL_STATISTICS: tuple[ItlStatistic, ...] = ("tpot", "p95_gap", "max_gap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """The limits a cell is held against; None: the contract has no such clause.

    `first` says whether `ttft_ms` limits the first token of any kind or the first one of
    the answer. `goodput` is the share of requests to prove compliant.
    """

    ttft_ms: float | None = None
    itl_ms: float | None = None
    itl_statistic: ItlStatistic = "tpot"
    percentile: float = 95.0
    goodput: float | None = None
    first: Literal["token", "answer"] = "token"

    def __post_init__(self) -> None:
        if not 0 < self.percentile < 100:
            raise ValueError(f"percentile is {self.percentile}, not between 0 and 100")
        if self.goodput is not None and not 0 < self.goodput < 1:
            raise ValueError(f"goodput is {self.goodput}, not a share between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSettings:
    """What a cell was asked to be.

    Parameters
    ----------
    arrival, offered_rate, burstiness
        The arrival process, its requests (or sessions) per second, the shape of gamma gaps.
    concurrency
        Streams kept in flight in a closed loop; the cap on requests in flight in an open
        one (None: no cap).
    output, output_tokens
        Whether answers were forced to their length; the contract's output length, None
        where lengths vary.
    planned_requests
        Warm-up and measured requests that the plan held; None for a cell by duration.
    cached_share, is_sharing_drawn
        Share of the prompts' tokens that the contract lets a prefix cache serve; known from
        the draw, or estimated from recorded texts.
    common_tokens
        Tokens around every prompt, such as a chat template's, which any cache may serve.
    """

    slo: Slo
    arrival: Process
    offered_rate: float | None = None
    burstiness: float = 1.0
    concurrency: int | None = None
    output: Literal["forced", "natural"] = "forced"
    output_tokens: int | None = None
    planned_requests: int | None = None
    cached_share: float = 0.0
    is_sharing_drawn: bool = True
    common_tokens: float = 0.0

    @property
    def is_closed(self) -> bool:
        """True for a fixed number of streams in flight."""
        return self.arrival == "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHealth:
    """What one load process measured of itself; None is unknown.

    `load_fell_early_s` is by how much the last measured answer outlasted the plan's last
    request, 0 where requests came to its end.
    """

    send_lag_ms_p99: float | None = None
    loop_lag_ms_p99: float | None = None
    cpu_share: float | None = None
    in_flight_peak: int | None = None
    load_fell_early_s: float | None = None
    rtt_us: tuple[float, ...] = ()

    @classmethod
    def of(cls, client: Mapping[str, Any]) -> ClientHealth:
        """Return the health in a load process's account of itself."""
        rtt_us: Sequence[float] = client.get("rtt_us") or ()
        return cls(
            send_lag_ms_p99=client.get("send_lag_ms_p99"),
            loop_lag_ms_p99=client.get("loop_lag_ms_p99"),
            cpu_share=client.get("cpu_share"),
            in_flight_peak=client.get("in_flight_peak"),
            load_fell_early_s=client.get("load_fell_early_s"),
            rtt_us=tuple(rtt_us),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWatch:
    """What the server's own metrics said around and during the cell; None is unknown.

    `requests_before` and `requests_after` count running and waiting ones, `foreign_peak` is
    the most that it held beyond ours, `waiting_share` the share of samples in the measured
    window at which requests waited, `prefix_hit_share` that of the prompts' tokens served
    from its cache.
    """

    requests_before: float | None = None
    requests_after: float | None = None
    foreign_peak: float | None = None
    waiting_share: float | None = None
    prefix_hit_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What is known of a run beside its requests; one client per load process."""

    complete: bool = True
    warmup_converged: bool | None = None
    clients: tuple[ClientHealth, ...] = ()
    server: ServerWatch | None = None
