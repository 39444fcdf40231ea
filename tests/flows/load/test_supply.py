import resource

import pytest

from flows.load.errors import CapacityError
from flows.load.plan import Endpoint, Plan
from flows.load.pool import Supply
from flows.load.supply import make_room, supplies

ENDPOINT = Endpoint(url="http://127.0.0.1")


def supply(a_plan, *, requests=1000, endpoints=1, **changes):
    header = a_plan.header([ENDPOINT] * endpoints, **changes)
    timed = header.arrival == "open"
    planned = tuple(
        a_plan.planned(n, endpoint=n % endpoints, at_ns=n if timed else None)
        for n in range(requests)
    )
    return supplies(Plan(header=header, requests=planned))


@pytest.mark.parametrize("concurrency", [1, 16, 100, 101, 256])
def test_the_pool_fits_the_cap(a_plan, concurrency):
    (found,) = supply(a_plan, concurrency=concurrency)

    assert found.ahead == concurrency + found.spares
    assert found.spares == max(2, concurrency // 8)


def test_without_a_cap_a_seconds_arrivals_are_opened_ahead(a_plan):
    assert supply(a_plan, arrival="open", concurrency=None, offered_rate=200.0) == [
        Supply(ahead=210, spares=10)
    ]


def test_a_slow_load_without_a_cap_opens_few(a_plan):
    assert supply(a_plan, arrival="open", concurrency=None, offered_rate=8.0) == [
        Supply(ahead=10, spares=2)
    ]


def test_endpoints_share_the_connections_as_they_share_the_requests(a_plan):
    assert supply(a_plan, endpoints=4, concurrency=64) == [Supply(ahead=18, spares=2)] * 4


def test_no_more_connections_than_requests(a_plan):
    assert supply(a_plan, requests=3, concurrency=64) == [Supply(ahead=3, spares=3)]


def test_more_connections_than_the_machine_allows_are_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))

    with pytest.raises(CapacityError, match=r"ulimit -Hn 5064.*lower the concurrency"):
        make_room(5000)


def test_the_limit_on_open_files_is_raised_as_far_as_allowed(monkeypatch):
    raised = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda *limits: raised.append(limits))

    make_room(1000)

    assert raised == [(resource.RLIMIT_NOFILE, (4096, 4096))]
