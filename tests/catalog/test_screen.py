"""The screen as a whole: its JSON, what is not modelled, and campaigns of every kind."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.screen import Screen
from catalog.verdict import Rank, Status

Vote = Callable[..., Screen]
A100 = {"device": "nvidia-a100-80gb-sxm4"}
CANDIDATE_KEYS = {
    "name",
    "offer",
    "device",
    "device_count",
    "tensor_parallel",
    "precision",
    "runtime",
    "version",
    "replicas_per_host",
    "sold_as",
    "verdict",
    "decided_by",
    "clause",
    "ranks",
    "parity",
    "price_usd_per_hour",
    "best_usd_per_1m_output",
    "gates",
}
GATE_KEYS = {
    "gate",
    "status",
    "bound",
    "assumption",
    "limit",
    "margin",
    "formula",
    "inputs",
}


def test_the_json_has_the_promised_keys_and_is_strict(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    screen = vote(canonical, A100 | {"price": "$3/h"}, {"endpoint": ["https://example.org/v1"]})

    document = json.loads(json.dumps(screen.to_json(), allow_nan=False))

    assert document["schema_version"] == 1
    assert document["contract"]["model"] == canonical["model"]
    for candidate in document["candidates"]:
        assert set(candidate) >= CANDIDATE_KEYS
        for gate in candidate["gates"]:
            assert set(gate) >= GATE_KEYS
    gates = {gate["gate"]: gate for gate in document["candidates"][0]["gates"]}
    assert set(gates["bandwidth"]["bound"]) == {"value", "unit", "basis"}
    assert [gates[name]["bound"]["unit"] for name in ("memory", "bandwidth", "compute")] == [
        "GiB",
        "ms",
        "ms",
    ]
    assert gates["bandwidth"]["bound"]["basis"] == "bound"
    assert gates["bandwidth"]["assumption"]["basis"] == "assumption"
    assert gates["interconnect"]["bound"] is None


def test_candidates_stand_in_the_files_order(vote: Vote, canonical: dict[str, Any]) -> None:
    devices = ["nvidia-l4", "nvidia-a100-80gb-sxm4", "nvidia-t4"]

    screen = vote(canonical, *({"device": name} for name in devices))

    assert [candidate.device for candidate in screen.candidates] == devices


@pytest.mark.parametrize(
    "layout",
    ["pipeline_parallel", "expert_parallel", "sequence_parallel", "context_parallel"],
)
def test_a_layout_that_is_not_modelled_is_unknown_by_its_name(
    vote: Vote, canonical: dict[str, Any], layout: str
) -> None:
    verdict = vote(canonical, A100 | {"device_count": 2, layout: 2}).candidates[0]

    assert verdict.verdict is Status.UNKNOWN
    assert (
        verdict.clause
        == f"not modelled: {layout.replace('_', ' ').replace('parallel', 'parallelism')}"
    )


def test_an_endpoint_is_unknown_and_keeps_its_price(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    endpoint = {"endpoint": ["https://example.org/v1"]}

    hourly, per_token = vote(
        canonical, endpoint | {"price": "$4/h"}, endpoint | {"price": "$0.60/Mtok"}
    ).candidates

    assert (hourly.verdict, per_token.verdict) == (Status.UNKNOWN, Status.UNKNOWN)
    assert hourly.price_usd_per_hour == 4
    assert per_token.best_usd_per_1m_output == 0.60


def test_the_local_host_without_a_device_is_unknown(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    here = {"host": "local", "runtime": "llama_server", "version": None}

    bare, named = vote(canonical, here, here | A100).candidates

    assert bare.verdict is Status.UNKNOWN
    assert "host 'local'" in bare.reason
    assert named.verdict is Status.PASS


def test_an_unknown_architecture_is_unknown_with_its_reason(
    vote: Vote, canonical: dict[str, Any], tmp_path: Any
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "perpetuum_mobile"}')

    verdict = vote(canonical | {"model": str(config)}, A100).candidates[0]

    assert verdict.verdict is Status.UNKNOWN
    assert "'perpetuum_mobile' is not modelled" in verdict.reason


def test_a_config_json_on_disk_stands_in_for_a_catalog_entry(
    vote: Vote, canonical: dict[str, Any], shipped: Catalog, tmp_path: Any
) -> None:
    model = shipped.model(canonical["model"])
    (tmp_path / "config.json").write_text(json.dumps(model.config))

    ours, theirs = (
        vote(canonical | {"model": name}, A100).candidates[0].gate("bandwidth").bound
        for name in (canonical["model"], str(tmp_path))
    )

    assert ours == theirs


def test_a_file_that_is_no_json_is_an_error_that_names_it(
    vote: Vote, canonical: dict[str, Any], tmp_path: Any
) -> None:
    (tmp_path / "config.json").write_text("{")

    with pytest.raises(CatalogError, match=r"config.json: not JSON"):
        vote(canonical | {"model": str(tmp_path)}, A100)


def test_an_offline_job_needs_throughput_and_no_latency(
    vote: Vote, canonical: dict[str, Any], handmade: Callable[..., Catalog]
) -> None:
    catalog = handmade(compute={"bf16": "20 TFLOP/s"})
    contract = canonical | {
        "slo": {},
        "concurrency": None,
        "offline": {"tokens_per_hour": "2 Mtok/h"},
    }

    fast, slow = vote(contract, A100, {"device": "mine"}, catalog=catalog).candidates

    assert fast.verdict is not Status.REJECT
    assert slow.verdict is Status.REJECT
    assert slow.clause == "15,625 requests per hour"


def test_three_ways_to_state_an_offline_goal_are_one(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    goals = [
        {"tokens_per_hour": "0.128 Mtok/h"},
        {"requests_per_hour": "1000/h"},
        {"requests": 2000, "deadline": "2 h"},
    ]

    limits = [
        vote(canonical | {"slo": {}, "offline": goal}, A100)
        .candidates[0]
        .gate("bandwidth")
        .limit
        for goal in goals
    ]

    assert [limit.value for limit in limits if limit] == pytest.approx([28.125] * 3)


def test_an_old_price_is_flagged_by_the_day_that_is_passed_in(
    vote: Vote, canonical: dict[str, Any], shipped: Catalog
) -> None:
    date = shipped.offer("aws/g6.xlarge").date
    assert date is not None
    candidate = {"offer": "aws/g6.xlarge"}

    fresh, old = (
        vote(canonical, candidate, day=date + dt.timedelta(days=days)).candidates[0]
        for days in (90, 91)
    )

    assert (fresh.stale, old.stale) == (False, True)
    assert any("older than 90 days" in note for note in old.notes)


def test_a_price_of_the_campaign_is_never_stale(vote: Vote, canonical: dict[str, Any]) -> None:
    candidate = {"offer": "aws/g6.xlarge", "assumptions": {"price": "$1/h"}}

    verdict = vote(canonical, candidate, day=dt.date(2030, 1, 1)).candidates[0]

    assert verdict.stale is False
    assert verdict.price_usd_per_hour == 1


def test_another_precision_passes_but_cannot_be_primary(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    eight = A100 | {"precision": "fp8", "price": "$3/h"}

    verdict, plain = vote(canonical, eight, A100 | {"price": "$9/h"}).candidates

    assert verdict.parity == "needs quality proof"
    assert verdict.verdict is Status.PASS
    assert Rank.PRIMARY in plain.ranks


def test_open_questions_name_what_no_paper_can_say(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    questions = vote(canonical, A100 | {"price": "$3/h"}).candidates[0].open_questions

    assert {"p95 TTFT", "p95 ITL", "queue time", "goodput", "quality"} <= set(questions)
    assert "price: $3.00/h is assumed" in questions
    assert any(question.startswith("achieved bandwidth: ") for question in questions)


POOL = [
    A100 | {"price": "$3/h"},
    A100 | {"device_count": 2, "tensor_parallel": 2, "price": "$6/h"},
    {"device": "nvidia-l4", "price": "$0.80/h"},
    {"device": "nvidia-t4", "price": "$0.50/h"},
    A100 | {"precision": "fp8", "price": "$3/h"},
    {"endpoint": ["https://example.org/v1"]},
    A100 | {"device_count": 2, "pipeline_parallel": 2},
]


@given(others=st.lists(st.sampled_from(range(len(POOL))), max_size=5))
@settings(max_examples=30, deadline=None)
def test_adding_candidates_never_changes_the_gates_of_others(
    vote: Vote, canonical: dict[str, Any], others: list[int]
) -> None:
    alone = vote(canonical, POOL[0]).candidates[0]
    among = vote(canonical, POOL[0], *(POOL[i] for i in others)).candidates[0]

    assert [g.to_json() for g in among.gates] == [g.to_json() for g in alone.gates]
    assert among.verdict is alone.verdict


@given(chosen=st.lists(st.sampled_from(range(len(POOL))), min_size=1, max_size=7))
@settings(max_examples=30, deadline=None)
def test_exactly_one_candidate_is_primary_if_any_at_parity_passes(
    vote: Vote, canonical: dict[str, Any], chosen: list[int]
) -> None:
    screen = vote(canonical, *(POOL[i] for i in chosen))

    first = [c for c in screen.candidates if Rank.PRIMARY in c.ranks]
    able = [c for c in screen.candidates if c.verdict is Status.PASS and c.parity == "contract"]

    assert len(first) == min(1, len(able))


EUROS = ({"price": "3.67 EUR/h"}, {"price": "9 EUR/h", "device_count": 2, "tensor_parallel": 2})


def test_prices_in_another_currency_rank_as_dollars_do_and_are_never_dollars(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    screened = vote(canonical, *(A100 | each for each in EUROS))
    first = screened.candidates[0]

    assert screened.primary is first
    assert str(first.best_cost) == "€0.539/Mtok"
    assert (first.price_usd_per_hour, first.best_usd_per_1m_output) == (None, None)
    assert first.to_json()["price"] == {"value": 3.67, "unit": "EUR/h", "basis": "assumption"}


def test_prices_in_two_currencies_are_refused(vote: Vote, canonical: dict[str, Any]) -> None:
    with pytest.raises(CatalogError, match=r"in USD and that of 'c0' in EUR"):
        vote(canonical, A100 | {"price": "3 EUR/h"}, A100 | {"price": "$3/h"})


def test_several_hosts_do_not_cost_what_one_does(vote: Vote, canonical: dict[str, Any]) -> None:
    fleet = {"offer": "aws/p4de.24xlarge", "device_count": 16, "tensor_parallel": 16}

    assert vote(canonical, fleet).candidates[0].price is None
