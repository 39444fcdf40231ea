"""The schedule has one zero: nothing starts before it, whichever way requests arrive."""

from __future__ import annotations

import pytest

from flows.load.pacing import Pacing
from flows.load.plan import Endpoint, Plan, PlanHeader, PlannedRequest, Warmup

ZERO_NS = 5_000_000


def plan(arrival: str, concurrency: int | None) -> Plan:
    header = PlanHeader(
        run="r",
        cell="c",
        replication=0,
        shard=0,
        seed=1,
        endpoints=(Endpoint(url="http://127.0.0.1:1/v1/completions"),),
        arrival=arrival,
        concurrency=concurrency,
        offered_rate=None,
        timeout_s=1.0,
        warmup=Warmup(mode="fixed", requests=0),
        measured_requests=8,
        duration_s=None,
        dialect="completions",
    )
    requests = tuple(
        PlannedRequest(
            sequence=number,
            at_ns=0 if arrival == "open" else None,
            session=number,
            turn=0,
            think_ns=0,
            endpoint=0,
            prompt_id=number,
            prompt_tokens=1,
            output_tokens=1,
            body="{}",
        )
        for number in range(8)
    )
    return Plan(header=header, requests=requests)


@pytest.mark.parametrize(
    ("arrival", "concurrency"), [("closed", 4), ("open", 4), ("open", None)]
)
def test_nothing_is_due_before_the_schedules_zero(arrival, concurrency):
    pacing = Pacing(plan(arrival, concurrency))
    pacing.begin(ZERO_NS)

    assert list(pacing.due(ZERO_NS - 1)) == []
    assert pacing.wake_ns(ZERO_NS - 1) == ZERO_NS
    assert [start.scheduled_ns for start in pacing.due(ZERO_NS)] == [ZERO_NS] * (
        concurrency or 8
    )
