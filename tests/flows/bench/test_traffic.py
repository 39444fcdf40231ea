"""Whether the traffic on a server was ours, by its own metrics."""

from __future__ import annotations

import numpy as np

from deploy_templates.plan import Metrics, Series
from flows.bench.traffic import OurRequests, Watch
from flows.collect.page import Page
from flows.collect.sampler import Sampler
from flows.collect.source import Source

MS = 1_000_000
METRICS = Metrics(
    path="/metrics",
    dialect="prometheus",
    series={
        "running": Series(name="vllm:num_requests_running", kind="gauge"),
        "waiting": Series(name="vllm:num_requests_waiting", kind="gauge"),
        "prefix_hits": Series(name="vllm:prefix_cache_hits_total", kind="counter"),
        "prefix_queries": Series(name="vllm:prefix_cache_queries_total", kind="counter"),
    },
)
SOURCE = Source(
    metrics=METRICS, runtime="vllm", release="0.33.0", is_known=True, is_simulation=False
)


def page(text: str, at_ms: int = 0) -> Page:
    return Page(asked_ns=at_ms * MS, answered_ns=(at_ms + 2) * MS, body=text.strip().encode())


def vllm_page(running: int, waiting: int, at_ms: int, hits: int = 0, lookups: int = 0) -> Page:
    values = {
        "num_requests_running": running,
        "num_requests_waiting": waiting,
        "prefix_cache_hits_total": hits,
        "prefix_cache_queries_total": lookups,
    }
    return page("\n".join(f"vllm:{name} {value}" for name, value in values.items()), at_ms)


def requests(*spans_ms: tuple[int, int], aborted: bool = False) -> list[OurRequests]:
    """One endpoint's requests, each in the server from so many milliseconds to so many."""
    begin, end = np.array(spans_ms, dtype=np.int64).reshape(-1, 2).T * MS
    return [
        OurRequests(
            sent_ns=begin, done_ns=end, was_aborted=np.full(len(begin), aborted, dtype=bool)
        )
    ]


def watch(*pages: Page, before: Page | None = None, after: Page | None = None) -> Watch:
    sampler = Sampler(
        source=SOURCE,
        fetch=lambda path: None,
        clock=lambda: 0,
        before=SOURCE.reading(before) if before else None,
        after=SOURCE.reading(after) if after else None,
        pages=list(pages),
    )
    return Watch({0: sampler})


WINDOW = (0, 10_000 * MS)


def test_what_the_server_holds_beyond_ours_is_foreign():
    samples = (vllm_page(2, 0, 1000), vllm_page(5, 1, 2000))

    account = watch(*samples).account(requests((500, 3000), (900, 3000)), WINDOW)

    assert account.foreign_peak == 4
    assert account.samples == 2


def test_gauges_that_lag_behind_our_own_requests_are_not_foreign():
    account = watch(vllm_page(2, 0, 1100)).account(requests((500, 1000), (500, 950)), WINDOW)

    assert account.foreign_peak == 0


def test_a_request_that_we_gave_up_may_still_be_worked_on():
    late = watch(vllm_page(1, 0, 3000))

    assert late.account(requests((500, 1000), aborted=True), WINDOW).foreign_peak == 0
    assert late.account(requests((500, 1000)), WINDOW).foreign_peak == 1


def test_requests_waiting_on_the_server_are_counted_within_the_window_alone():
    samples = [
        vllm_page(1, waiting, at) for waiting, at in ((1, 0), (0, 600), (2, 700), (9, 900))
    ]

    account = watch(*samples).account(requests((0, 1000)), (500 * MS, 800 * MS))

    assert account.waiting_share == 0.5


def test_before_and_after_are_told_apart():
    account = watch(before=vllm_page(2, 1, 0), after=vllm_page(0, 0, 9)).account(
        requests(), WINDOW
    )

    assert (account.requests_before, account.requests_after) == (3, 0)


def test_the_share_of_prefix_hits_is_that_of_the_cell_alone():
    account = watch(
        before=vllm_page(0, 0, 0, hits=900, lookups=1000),
        after=vllm_page(0, 0, 9, hits=1000, lookups=2000),
    ).account(requests(), WINDOW)

    assert account.prefix_hit_share == 0.1


def test_without_metrics_nothing_is_claimed():
    account = Watch({}).account(requests(), WINDOW)

    assert account.runtime is None
    assert account.requests_before is None
    assert account.foreign_peak is None
    assert account.prefix_hit_share is None
