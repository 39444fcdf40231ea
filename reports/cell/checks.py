"""Checks of a cell's evidence; each returns the problems that it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from reports.cell.bunching import Bunching
from reports.cell.latency import Latencies, send_lag_ms
from reports.cell.problems import Concern, Problem
from reports.cell.settings import CellSettings, Observed
from reports.cell.steady import Window, flights, is_trend, moves_in_waves
from reports.columns import NULL, Ints, RequestColumns
from reports.stats.arrivals import audit
from reports.stats.flight import Little, mean_in_flight, peak_in_flight
from reports.stats.quantiles import percentiles
from reports.stats.trend import Trend

_LAG_FLOOR_MS: Final = 1.0
_LAG_SHARE_OF_TTFT: Final = 0.02
_LAG_SHARE_OF_ITL: Final = 0.1
_CPU_SHARE: Final = 0.8
_LITTLE: Final = 1e-3
_RATE: Final = 0.01
# an idle server, too, lets a request wait until its next step begins
_MOSTLY_WAITING: Final = 0.5
_WAIT_MS: Final = 1.0
_STREAMS_KEPT: Final = 0.9
_NETWORK_SHARE: Final = 0.1
_CACHED_TOLERANCE: Final = 0.01


def worst_lags(
    measured: RequestColumns, observed: Observed
) -> tuple[float | None, float | None, float | None]:
    """Return send lag p99, loop lag p99 (ms) and CPU share, of the worst load process.

    The send lag is that of the measured requests; where none was sent it is unknown.
    """
    lag_ms = send_lag_ms(measured)
    send_lag = percentiles(lag_ms[np.isfinite(lag_ms)], [99])[0]
    loop_lags = [client.loop_lag_ms_p99 for client in observed.clients]
    cpu_shares = [client.cpu_share for client in observed.clients]
    return send_lag, _largest(loop_lags), _largest(cpu_shares)


def _largest(values: list[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def client_problems(
    measured: RequestColumns,
    settings: CellSettings,
    observed: Observed,
    gap_p50_ms: float | None,
) -> Iterator[Problem]:
    """Whether the client measured itself; `gap_p50_ms` stands in for an absent ITL limit."""
    send_lag, loop_lag, cpu_share = worst_lags(measured, observed)
    allowed = max(_LAG_FLOOR_MS, _LAG_SHARE_OF_TTFT * (settings.slo.ttft_ms or 0.0))
    if send_lag is not None and send_lag > allowed:
        yield Problem(
            concern=Concern.SEND_LAG,
            seen=f"send lag p99 is {send_lag:.2f} ms, beyond {allowed:g} ms",
        )
    itl_ms = settings.slo.itl_ms or max(gap_p50_ms or 0.0, _LAG_FLOOR_MS / _LAG_SHARE_OF_ITL)
    allowed = _LAG_SHARE_OF_ITL * itl_ms
    if loop_lag is not None and loop_lag > allowed:
        yield Problem(
            concern=Concern.LOOP_LAG,
            seen=f"event-loop lag p99 is {loop_lag:.2f} ms, beyond {allowed:g} ms",
        )
    if cpu_share is not None and cpu_share > _CPU_SHARE:
        yield Problem(
            concern=Concern.CLIENT_CPU,
            seen=f"the client used {cpu_share:.0%} of a core, beyond {_CPU_SHARE:.0%}",
        )


def arrival_times_ns(measured: RequestColumns) -> Ints:
    """Return when the arrivals were sent, in order, the waits for a cap taken out.

    Later turns of a session are no arrivals: they are due when the turn before has ended.
    """
    sent = (measured.sent_ns != NULL) & (measured.scheduled_ns != NULL) & (measured.turn == 0)
    lag_ns = np.nan_to_num(send_lag_ms(measured)[sent]) * 1e6
    return np.sort(measured.scheduled_ns[sent] + lag_ns.astype(np.int64))


def arrival_problems(measured: RequestColumns, settings: CellSettings) -> Iterator[Problem]:
    """Whether the load that was sent is of the kind that was asked for."""
    breaches = audit(
        arrival_times_ns(measured),
        settings.arrival,
        rate_per_s=settings.offered_rate,
        burstiness=settings.burstiness,
    )
    for breach in breaches:
        yield Problem(
            concern=Concern.ARRIVALS,
            seen=(
                f"{breach.statistic} of the arrivals is {breach.seen:.4g}; honest"
                f" {settings.arrival} ones lie between {breach.low:.4g} and {breach.high:.4g}"
            ),
        )


def rate_problems(measured: RequestColumns, settings: CellSettings) -> Iterator[Problem]:
    """Whether requests were sent as fast as they were due."""
    if settings.is_closed:
        return
    sent = (measured.sent_ns != NULL) & (measured.scheduled_ns != NULL)
    due, achieved = rate_of(measured.scheduled_ns[sent]), rate_of(measured.sent_ns[sent])
    if due is not None and achieved is not None and achieved < (1 - _RATE) * due:
        yield Problem(
            concern=Concern.RATE,
            seen=f"{achieved:.4g} requests per second were sent of {due:.4g} that were due",
        )


def rate_of(times_ns: Ints) -> float | None:
    """Return events per second between the first and the last; None for fewer than two."""
    if len(times_ns) < 2:
        return None
    span_ns = int(times_ns.max()) - int(times_ns.min())
    return (len(times_ns) - 1) / (span_ns / 1e9) if span_ns > 0 else None


def little_problems(little: Little | None) -> Iterator[Problem]:
    """Whether in flight, rate and residence agree over the whole run."""
    if little is not None and little.deviation > _LITTLE:
        yield Problem(
            concern=Concern.LITTLE,
            seen=(
                f"mean in flight is {little.mean_in_flight:.4g}, rate times residence"
                f" {little.rate_times_residence:.4g}"
            ),
        )


def cap_problems(
    measured: RequestColumns, settings: CellSettings, observed: Observed
) -> Iterator[Problem]:
    """Whether the cap on requests in flight, and not the server, made requests wait."""
    if settings.is_closed or settings.concurrency is None or not len(measured):
        return
    bound = (measured.slot_free_ns != NULL) & (measured.scheduled_ns != NULL)
    waits_ns = measured.slot_free_ns[bound] - measured.scheduled_ns[bound]
    share = float((waits_ns > _WAIT_MS * 1e6).sum()) / len(measured)
    server = observed.server
    server_waits = (
        server is not None
        and server.waiting_share is not None
        and server.waiting_share >= _MOSTLY_WAITING
    )
    if share > 1 - settings.slo.percentile / 100 and not server_waits:
        yield Problem(
            concern=Concern.CAP,
            seen=f"{share:.0%} of the requests waited for one of {settings.concurrency} slots",
        )


def flight_problems(
    columns: RequestColumns, measured: RequestColumns, settings: CellSettings, window: Window
) -> Iterator[Problem]:
    """Whether as many requests were in flight as the cell's concurrency says."""
    if settings.concurrency is None:
        return
    begin_ns, end_ns = flights(columns)
    peak = peak_in_flight(begin_ns, end_ns, window.begin_ns, window.end_ns)
    if peak > settings.concurrency:
        yield Problem(
            concern=Concern.SUMS,
            seen=f"{peak} requests were in flight, above the {settings.concurrency} allowed",
        )
    if not settings.is_closed or (measured.turn > 0).any():
        return
    kept = mean_in_flight(begin_ns, end_ns, window.begin_ns, window.last_due_ns)
    if window.last_due_ns > window.begin_ns and kept < _STREAMS_KEPT * settings.concurrency:
        yield Problem(
            concern=Concern.IN_FLIGHT,
            seen=f"on average {kept:.3g} of {settings.concurrency} streams were in flight",
        )
    if moves_in_waves(measured, settings.concurrency):
        yield Problem(
            concern=Concern.LOCKSTEP, seen="the streams ended, and began again, in waves"
        )


def trend_problems(found: Mapping[str, Trend]) -> Iterator[Problem]:
    """Whether a trend runs through the measured window."""
    for name, seen in found.items():
        if is_trend(seen):
            yield Problem(
                concern=Concern.TREND,
                seen=f"{name} changed by {seen.change:+.0%} (p = {seen.p_value:.1g})",
            )


def bunching_problems(seen: Bunching) -> Iterator[Problem]:
    """Whether gaps between chunks can be observed at all."""
    if seen.hides_gaps:
        yield Problem(
            concern=Concern.BUNCHED,
            seen=(
                f"{seen.together_share:.0%} of the chunks came together with the one before,"
                f" in {seen.deliveries:g} deliveries per answer"
            ),
        )


def surroundings_problems(
    columns: RequestColumns, latency: Latencies, settings: CellSettings, observed: Observed
) -> Iterator[Problem]:
    """Whether the server, its cache and the network were what the cell takes them for."""
    server = observed.server
    if server is not None:
        if server.foreign_peak:
            seen = f"the server held up to {server.foreign_peak:g} requests beyond ours"
            yield Problem(concern=Concern.FOREIGN, seen=seen)
        around = {"before": server.requests_before, "after": server.requests_after}
        for when, requests in around.items():
            if requests:
                seen = f"{requests:g} requests were on the server {when} the cell"
                yield Problem(concern=Concern.NOT_DRAINED, seen=seen)
    cached, allowed = _cached_share(columns, observed), _allowed_share(columns, settings)
    if cached is not None and cached > allowed + _CACHED_TOLERANCE:
        yield Problem(
            concern=Concern.CACHED if settings.is_sharing_drawn else Concern.PERHAPS_CACHED,
            seen=f"{cached:.1%} of the prompt tokens, where {allowed:.1%} may be",
        )
    share = rtt_share_of_ttft(latency, observed)
    if share is not None and share > _NETWORK_SHARE:
        yield Problem(concern=Concern.NETWORK, seen=f"the round trip is {share:.0%} of TTFT")


def _cached_share(columns: RequestColumns, observed: Observed) -> float | None:
    """The server's own share of prompt tokens from its cache, by metrics or by usage."""
    if observed.server is not None and observed.server.prefix_hit_share is not None:
        return observed.server.prefix_hit_share
    told = (columns.cached_tokens != NULL) & (columns.prompt_tokens != NULL)
    prompt_tokens = int(columns.prompt_tokens[told].sum())
    return float(columns.cached_tokens[told].sum()) / prompt_tokens if prompt_tokens else None


def _allowed_share(columns: RequestColumns, settings: CellSettings) -> float:
    """Share of the prompt tokens that a cache may serve: declared, or around every prompt."""
    told = columns.prompt_tokens[columns.prompt_tokens != NULL]
    prompt_tokens = float(told.sum())
    around = settings.common_tokens * len(told) / prompt_tokens if prompt_tokens else 0.0
    return min(1.0, settings.cached_share + around)


def rtt_ms_p50(observed: Observed) -> float | None:
    """Return the median round-trip time of all clients' probes in milliseconds."""
    rtt_us = np.array(
        [rtt for client in observed.clients for rtt in client.rtt_us], dtype=float
    )
    median_us = percentiles(rtt_us, [50])[0]
    return None if median_us is None else median_us / 1000


def rtt_share_of_ttft(latency: Latencies, observed: Observed) -> float | None:
    """Return the round trip's part of the median service TTFT."""
    rtt_ms = rtt_ms_p50(observed)
    ttft_ms = percentiles(latency.service_ttft[np.isfinite(latency.service_ttft)], [50])[0]
    return rtt_ms / ttft_ms if rtt_ms is not None and ttft_ms else None
