"""Each check of the evidence passes an honest cell and stops one that is not."""

from __future__ import annotations

import numpy as np
import pytest

from reports.cell import CellSettings, ClientHealth, Concern, Observed, ServerWatch, Slo, checks
from reports.cell.latency import latencies
from reports.cell.problems import VERDICTS, Verdict
from reports.cell.steady import window_of
from reports.stats.flight import Little

MS = 1_000_000
SLO = Slo(ttft_ms=1000, itl_ms=25)
POISSON = CellSettings(slo=SLO, arrival="poisson", offered_rate=8.0)


def concerns(problems) -> list[Concern]:
    return [problem.concern for problem in problems]


def clients(**health) -> Observed:
    return Observed(clients=(ClientHealth(), ClientHealth(**health)))


@pytest.fixture
def poisson_due_ms():
    return np.cumsum(np.random.default_rng(1).exponential(125, 200))


@pytest.mark.parametrize(
    ("lag_ms", "ttft_ms", "bound"),
    [
        (0.9, None, False),
        (1.1, None, True),
        (19, 1000, False),
        (21, 1000, True),
        (1.1, 40, True),
    ],
)
def test_a_send_lag_beyond_1_ms_or_2_percent_of_the_ttft_limit_is_the_clients(
    cell_of, lag_ms, ttft_ms, bound
):
    settings = CellSettings(slo=Slo(ttft_ms=ttft_ms), arrival="poisson")
    found = checks.client_problems(
        cell_of(range(100), lag_ms=lag_ms), settings, Observed(), 10.0
    )

    assert concerns(found) == ([Concern.SEND_LAG] if bound else [])


def test_one_late_send_in_a_hundred_is_within_the_99th_percentile(cell_of):
    sent = np.arange(200) * 100 * MS
    sent[7] += 90 * MS
    cell = cell_of(np.arange(200) * 100.0, sent_ns=sent)

    assert concerns(checks.client_problems(cell, POISSON, Observed(), 10.0)) == []


@pytest.mark.parametrize(
    ("lag_ms", "itl_ms", "gap_p50_ms", "bound"),
    [
        (2.4, 25, 10, False),
        (2.6, 25, 10, True),
        (2.6, None, 30, False),
        (2.6, None, 20, True),
        (0.9, None, 0.5, False),
        (0.9, None, None, False),
    ],
)
def test_a_loop_lag_beyond_a_tenth_of_the_itl_limit_is_the_clients(
    cell_of, lag_ms, itl_ms, gap_p50_ms, bound
):
    settings = CellSettings(slo=Slo(itl_ms=itl_ms), arrival="poisson")
    observed = clients(loop_lag_ms_p99=lag_ms)
    found = checks.client_problems(cell_of(range(9)), settings, observed, gap_p50_ms)

    assert concerns(found) == ([Concern.LOOP_LAG] if bound else [])


@pytest.mark.parametrize(("share", "bound"), [(0.8, False), (0.81, True), (None, False)])
def test_more_than_80_percent_of_a_core_is_the_clients(cell_of, share, bound):
    found = checks.client_problems(cell_of(range(9)), POISSON, clients(cpu_share=share), 10.0)

    assert concerns(found) == ([Concern.CLIENT_CPU] if bound else [])


def test_of_several_clients_the_worst_is_told(cell_of):
    observed = Observed(
        clients=(
            ClientHealth(loop_lag_ms_p99=0.1, cpu_share=0.7),
            ClientHealth(loop_lag_ms_p99=0.4, cpu_share=0.2),
        )
    )

    assert checks.worst_lags(cell_of(range(9), lag_ms=2), observed) == (2, 0.4, 0.7)


def test_what_no_client_measured_is_unknown(cell_of):
    assert checks.worst_lags(cell_of([]), Observed()) == (None, None, None)


def test_a_load_processs_account_is_read_with_its_gaps():
    account = {"send_lag_ms_p99": 0.2, "loop_lag_ms_p99": None, "rtt_us": [40, 60], "extra": 1}
    health = ClientHealth.of(account)

    assert (health.send_lag_ms_p99, health.loop_lag_ms_p99, health.cpu_share) == (
        0.2,
        None,
        None,
    )
    assert health.rtt_us == (40, 60)
    assert ClientHealth.of({}) == ClientHealth()


def test_honest_poisson_arrivals_pass(cell_of, poisson_due_ms):
    assert concerns(checks.arrival_problems(cell_of(poisson_due_ms), POISSON)) == []


def test_arrivals_of_another_kind_are_told_with_their_limits(cell_of):
    found = list(checks.arrival_problems(cell_of(np.arange(200) * 125.0), POISSON))

    assert found[0].concern is Concern.ARRIVALS
    assert found[0].seen.startswith("cv of the arrivals is ")
    assert "honest poisson ones lie between 0.72" in found[0].seen


def test_the_audit_is_of_what_was_sent_not_of_what_was_planned(cell_of, poisson_due_ms):
    ticks = np.ceil(poisson_due_ms / 1000) * 1000  # a client that sends once per second
    cell = cell_of(poisson_due_ms, sent_ns=np.rint(ticks * MS).astype(np.int64))

    assert Concern.ARRIVALS in concerns(checks.arrival_problems(cell, POISSON))


def test_the_waits_for_a_cap_are_no_fault_of_the_arrivals(cell_of, poisson_due_ms):
    free_ms = np.maximum.accumulate(poisson_due_ms + 400)
    cell = cell_of(
        poisson_due_ms,
        slot_free_ns=np.rint(free_ms * MS).astype(np.int64),
        sent_ns=np.rint((free_ms + 0.1) * MS).astype(np.int64),
    )

    assert concerns(checks.arrival_problems(cell, POISSON)) == []


def test_later_turns_of_a_session_are_no_arrivals(cell_of, poisson_due_ms):
    due = np.sort(np.r_[poisson_due_ms, poisson_due_ms + 1.0])
    turn = np.where(np.isin(due, poisson_due_ms), 0, 1)

    assert concerns(checks.arrival_problems(cell_of(due, turn=turn), POISSON)) == []
    assert len(checks.arrival_times_ns(cell_of(due, turn=turn))) == 200


def test_requests_that_were_never_sent_are_no_arrivals(cell_of, without_answers):
    cell = without_answers(cell_of(range(9)), [0, 1])

    assert len(checks.arrival_times_ns(cell)) == 7


def test_a_rate_that_was_not_sent_is_told(cell_of):
    due = np.arange(200) * 5.0
    behind = cell_of(due, sent_ns=np.rint(due * 1.09 * MS).astype(np.int64))
    found = list(checks.rate_problems(behind, POISSON))

    assert found[0].seen == "183.5 requests per second were sent of 200 that were due"
    assert concerns(checks.rate_problems(cell_of(due), POISSON)) == []


def test_a_closed_loop_has_no_rate_to_miss(cell_of):
    closed = CellSettings(slo=SLO, arrival="closed", concurrency=2)
    behind = cell_of(np.arange(9) * 5.0, sent_ns=np.arange(9) * 50 * MS)

    assert concerns(checks.rate_problems(behind, closed)) == []


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_requests_have_no_rate(cell_of, count):
    assert checks.rate_of(cell_of(range(count)).sent_ns) is None
    assert concerns(checks.rate_problems(cell_of(range(count)), POISSON)) == []


@pytest.mark.parametrize(
    ("residence", "broken"), [(10.0, False), (10.009, False), (10.02, True)]
)
def test_little_s_law_is_held_to_a_thousandth(residence, broken):
    little = Little(mean_in_flight=10.0, rate_times_residence=residence)

    assert concerns(checks.little_problems(little)) == ([Concern.LITTLE] if broken else [])
    assert concerns(checks.little_problems(None)) == []


CAPPED = CellSettings(slo=SLO, arrival="poisson", offered_rate=8.0, concurrency=16)


def waiting(cell_of, share, wait_ms=50):
    bound = np.arange(200) < share * 200
    due = np.arange(200) * 125.0
    slot = np.where(bound, np.rint((due + wait_ms) * MS), None)
    return cell_of(due, slot_free_ns=slot.tolist())


@pytest.mark.parametrize(
    ("share", "server", "bound"),
    [
        (0.05, None, False),
        (0.06, None, True),
        (0.5, ServerWatch(waiting_share=None), True),
        (0.5, ServerWatch(waiting_share=0.0), True),
        (0.5, ServerWatch(waiting_share=0.3), True),
        (0.5, ServerWatch(waiting_share=0.6), False),
    ],
)
def test_a_cap_that_binds_while_the_server_waits_for_nothing_is_told(
    cell_of, share, server, bound
):
    found = checks.cap_problems(waiting(cell_of, share), CAPPED, Observed(server=server))

    assert concerns(found) == ([Concern.CAP] if bound else [])


def test_a_cap_that_holds_requests_for_microseconds_does_not_bind(cell_of):
    assert concerns(checks.cap_problems(waiting(cell_of, 0.5, 0.2), CAPPED, Observed())) == []


def test_without_a_cap_or_in_a_closed_loop_none_binds(cell_of):
    closed = CellSettings(slo=SLO, arrival="closed", concurrency=16)

    assert concerns(checks.cap_problems(waiting(cell_of, 0.5), POISSON, Observed())) == []
    assert concerns(checks.cap_problems(waiting(cell_of, 0.5), closed, Observed())) == []
    assert concerns(checks.cap_problems(cell_of([]), CAPPED, Observed())) == []


def closed_loop(cell_of, streams, rounds=12, pause_ms=0.2, **changes):
    """Streams of 140.1 ms each, whose starts are spread evenly, begun again after a pause."""
    starts = np.arange(streams) * 140.3 / streams
    due = (starts[None, :] + np.arange(rounds)[:, None] * (140.1 + pause_ms)).ravel()
    return cell_of(np.sort(due), **changes)


def flights_of(cell, streams, arrival="closed"):
    settings = CellSettings(slo=SLO, arrival=arrival, concurrency=streams)
    return concerns(checks.flight_problems(cell, cell, settings, window_of(cell)))


def test_a_closed_loop_that_keeps_its_streams_is_in_order(cell_of):
    assert flights_of(closed_loop(cell_of, 16), 16) == []


def test_streams_that_are_not_kept_in_flight_are_told(cell_of):
    assert flights_of(closed_loop(cell_of, 16, pause_ms=80), 16) == [Concern.IN_FLIGHT]


def test_think_time_between_turns_is_no_lost_stream(cell_of):
    cell = closed_loop(cell_of, 16, pause_ms=80, turn=1)

    assert flights_of(cell, 16) == []


@pytest.mark.parametrize("arrival", ["closed", "poisson"])
def test_more_in_flight_than_allowed_breaks_the_sums(cell_of, arrival):
    assert Concern.SUMS in flights_of(closed_loop(cell_of, 16), 15, arrival)


def test_streams_in_lockstep_are_told(cell_of):
    due = np.repeat(np.arange(12) * 140.4, 16)

    assert flights_of(cell_of(due), 16) == [Concern.LOCKSTEP]


def test_foreign_requests_and_leftovers_on_the_server_are_told(cell_of):
    cell = cell_of(range(9))
    server = ServerWatch(requests_before=1, requests_after=2, foreign_peak=3)
    found = list(
        checks.surroundings_problems(cell, latencies(cell), POISSON, Observed(server=server))
    )

    assert [problem.seen for problem in found] == [
        "the server held up to 3 requests beyond ours",
        "1 requests were on the server before the cell",
        "2 requests were on the server after the cell",
    ]


def test_a_server_that_tells_nothing_is_not_accused(cell_of):
    cell = cell_of(range(9))
    observed = Observed(server=ServerWatch())

    assert (
        concerns(checks.surroundings_problems(cell, latencies(cell), POISSON, observed)) == []
    )


@pytest.mark.parametrize(
    ("cached", "watch", "declared", "told"),
    [
        (0, None, 0.0, False),
        (None, None, 0.0, False),
        (8, None, 0.0, True),
        (8, None, 0.5, False),
        (0, 0.4, 0.0, True),
        (8, 0.005, 0.0, False),
    ],
)
def test_prompts_served_from_a_cache_beyond_what_was_declared_are_told(
    cell_of, cached, watch, declared, told
):
    cell = cell_of(range(9), cached_tokens=cached)
    settings = CellSettings(slo=SLO, arrival="poisson", cached_share=declared)
    observed = Observed(server=ServerWatch(prefix_hit_share=watch))
    found = checks.surroundings_problems(cell, latencies(cell), settings, observed)

    assert concerns(found) == ([Concern.CACHED] if told else [])


def test_a_template_around_every_prompt_may_come_from_the_cache(cell_of):
    cell = cell_of(range(9), cached_tokens=8)
    around = CellSettings(slo=SLO, arrival="poisson", common_tokens=8)

    assert (
        concerns(checks.surroundings_problems(cell, latencies(cell), around, Observed())) == []
    )


def test_where_sharing_is_only_estimated_the_cache_is_told_and_voids_nothing(cell_of):
    cell = cell_of(range(9), cached_tokens=8)
    recorded = CellSettings(slo=SLO, arrival="poisson", is_sharing_drawn=False)
    found = checks.surroundings_problems(cell, latencies(cell), recorded, Observed())

    assert concerns(found) == [Concern.PERHAPS_CACHED]
    assert Concern.PERHAPS_CACHED not in VERDICTS


@pytest.mark.parametrize("concern", [Concern.CACHED, Concern.FOREIGN])
def test_a_cell_that_a_cache_or_a_stranger_changed_is_invalid(concern):
    assert VERDICTS[concern] == Verdict.INVALID


@pytest.mark.parametrize(("rtt_us", "told"), [(4000, False), (6000, True)])
def test_a_network_that_is_a_tenth_of_ttft_is_told(cell_of, rtt_us, told):
    cell = cell_of(range(9), ttft_ms=50.1)
    observed = clients(rtt_us=(rtt_us,) * 3)
    found = checks.surroundings_problems(cell, latencies(cell), POISSON, observed)

    assert concerns(found) == ([Concern.NETWORK] if told else [])
    assert checks.rtt_ms_p50(observed) == rtt_us / 1000
    assert checks.rtt_share_of_ttft(latencies(cell), observed) == pytest.approx(rtt_us / 5e4)


def test_without_answers_the_network_has_no_share(cell_of):
    cell = cell_of([])

    assert checks.rtt_share_of_ttft(latencies(cell), clients(rtt_us=(50,))) is None
    assert checks.rtt_share_of_ttft(latencies(cell_of([0])), Observed()) is None
