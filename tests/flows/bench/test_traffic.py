"""The server's own account: four dialects, and whether the traffic was ours."""

from __future__ import annotations

import numpy as np
import pytest

from flows.bench.metrics import DIALECTS, Page, Source
from flows.bench.traffic import OurRequests, Watch
from flows.load.plan import Endpoint

MS = 1_000_000
PAGES = {
    "vllm": """
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 4.0
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1000.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 250.0
vllm:time_to_first_token_seconds_bucket{le="0.001",model_name="m"} 0.0
""",
    "sglang": """
sglang:num_running_reqs{model_name="m",tp_rank="0"} 3.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 4.0
sglang:cached_tokens_total{model_name="m"} 250.0
sglang:prompt_tokens_total{model_name="m"} 1000.0
""",
    "tensorrt_llm": """
trtllm_num_requests_running{model_name="m"} 3.0
trtllm_num_requests_waiting{model_name="m"} 4.0
""",
    "llama_server": """
llamacpp:requests_processing 3
llamacpp:requests_deferred 4
llamacpp:prompt_tokens_total 750
llamacpp:prompt_tokens_cached_total 250
""",
}


def source(runtime: str) -> Source:
    dialect = next(d for d in DIALECTS if d.runtime == runtime)
    return Source(url="http://x/metrics", endpoint=Endpoint(url="http://x"), dialect=dialect)


def page(text: str, at_ms: int = 0) -> Page:
    return Page(asked_ns=at_ms * MS, answered_ns=(at_ms + 2) * MS, lines=text.strip().encode())


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
    server = source("vllm")
    watch = Watch([(0, server)])
    watch.pages = [(0, found) for found in pages]
    watch.before = [server.reading(before)] if before else []
    watch.after = [server.reading(after)] if after else []
    return watch


WINDOW = (0, 10_000 * MS)


@pytest.mark.parametrize("runtime", list(PAGES))
def test_every_dialect_tells_running_and_waiting_summed_over_engines(runtime):
    reading = source(runtime).reading(page(PAGES[runtime]))

    assert (reading.running, reading.waiting, reading.present) == (3, 4, 7)


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "llama_server"])
def test_prefix_hits_are_counted_against_all_prompt_tokens_that_were_looked_up(runtime):
    reading = source(runtime).reading(page(PAGES[runtime]))

    assert (reading.hits, reading.lookups) == (250, 1000)


def test_a_series_that_is_absent_is_unknown_and_not_zero():
    reading = source("vllm").reading(page("vllm:num_requests_running 0"))

    assert reading.running == 0
    assert reading.waiting is None
    assert reading.present is None
    assert reading.hits is None


def test_a_page_that_cannot_be_parsed_is_unknown():
    assert source("vllm").reading(page("vllm:num_requests_running {{{")).present is None


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
    account = Watch([]).account(requests(), WINDOW)

    assert account.runtime is None
    assert account.requests_before is None
    assert account.foreign_peak is None
    assert account.prefix_hit_share is None
