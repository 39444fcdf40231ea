from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import CatalogError
from flows.load.plan import Endpoint
from flows.matrix import (
    above_a_miss,
    cell_identity,
    cell_name,
    cell_seed,
    cell_spec,
    check_amounts,
    closed_point,
    decides,
    decision_point,
    duration_s,
    least_requests,
    load_points,
    poisson_point,
    timed_requests,
)
from flows.search import search_point
from reports.run.layout import CellName
from reports.run.plan_file import DemandFacts, RunPlan
from tests.flows.plans import CANONICAL, campaign_of, plan_of

ENDPOINT = Endpoint(url="http://127.0.0.1:8000/v1/completions")


@pytest.fixture(scope="module")
def canonical() -> RunPlan:
    return plan_of(CANONICAL)


@pytest.fixture
def here(tmp_path: Path) -> RunPlan:
    return plan_of(campaign_of(tmp_path)[0])


def _names(folder: Path, **changes: Any) -> list[str]:
    return [point.name for point in load_points(campaign_of(folder, changes)[1])]


def test_the_default_sweep_is_that_of_the_controlled_variables(tmp_path: Path) -> None:
    assert _names(tmp_path, matrix={"concurrency": [1, 2, 4, 8, 16, 24, 32]}) == [
        f"closed-{streams}" for streams in (1, 2, 4, 8, 16, 24, 32)
    ]


def test_the_contracts_own_load_is_always_among_the_points(tmp_path: Path) -> None:
    assert _names(tmp_path, matrix={"concurrency": [1, 8]}) == [
        "closed-1",
        "closed-4",
        "closed-8",
    ]


@pytest.mark.parametrize(
    ("contract", "own"),
    [
        ({"concurrency": 4}, "closed-4"),
        ({"concurrency": None, "rate": "2.5/s"}, "poisson-2.5"),
        ({"concurrency": 16, "rate": "8/s"}, "poisson-8-cap16"),
    ],
)
def test_a_contract_is_judged_at_its_own_load(
    tmp_path: Path, contract: dict[str, Any], own: str
) -> None:
    campaign = campaign_of(tmp_path, {"contract": contract})[1]
    points = load_points(campaign)

    assert decision_point(campaign, points) == own
    assert own in {point.name for point in points}


def test_an_offline_contract_is_judged_over_all_closed_levels(tmp_path: Path) -> None:
    offline = {"offline": {"tokens_per_hour": "1e6 tok/h"}, "slo": {}, "concurrency": None}
    path, campaign = campaign_of(tmp_path, {"contract": offline, "matrix": {"rates": ["1/s"]}})
    plan = plan_of(path)

    assert decision_point(campaign, load_points(campaign)) is None
    assert [decides(plan, point) for point in plan.matrix.load_points] == [True] * 3 + [False]


def test_listed_rates_have_no_cap_unless_the_matrix_states_one(tmp_path: Path) -> None:
    plain = {"concurrency": [4], "rates": ["0.5/s", "8/s"]}

    assert _names(tmp_path, matrix=plain) == ["closed-4", "poisson-0.5", "poisson-8"]
    assert _names(tmp_path, matrix={**plain, "max_in_flight": 16}) == [
        "closed-4",
        "poisson-0.5-cap16",
        "poisson-8-cap16",
    ]


@given(
    candidate=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,12}", fullmatch=True),
    streams=st.integers(1, 4096),
    rate=st.floats(1e-4, 1e4),
    cap=st.none() | st.integers(1, 512),
)
def test_a_cells_folder_is_a_file_name_and_tells_its_cell(
    candidate: str, streams: int, rate: float, cap: int | None
) -> None:
    for point in (closed_point(streams), poisson_point(rate, cap), search_point(rate, cap)):
        cell = CellName(candidate=candidate, load_point=point.name, key="0123abcd")

        assert Path(cell.folder).name == cell.folder
        assert CellName.of(cell.folder) == cell


def test_seeds_are_equal_over_candidates_and_differ_over_cells_and_replications(
    canonical: RunPlan,
) -> None:
    points = [*canonical.matrix.load_points, search_point(8.0), poisson_point(7.5)]
    seeds = [
        cell_seed(canonical, point, replication) for point in points for replication in range(5)
    ]

    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert seeds[0] == cell_seed(canonical, points[0], 0)
    other = canonical.model_copy(
        update={"matrix": canonical.matrix.model_copy(update={"seed": 43})}
    )
    assert cell_seed(other, points[0], 0) != seeds[0]


def _changed(plan: RunPlan, **update: Any) -> RunPlan:
    return plan.model_copy(update=update)


def test_a_key_changes_with_everything_that_makes_the_cell(here: RunPlan) -> None:
    one, point = here.candidates[0], here.load_point("closed-4")
    launch = one.launch or {}
    keys = [
        cell_name(here, one, point).key,
        cell_name(here, here.candidates[0], here.load_point("closed-8")).key,
        cell_name(_changed(here, method_version=2), one, point).key,
        cell_name(here, one.model_copy(update={"host": "elsewhere"}), point).key,
        cell_name(here, one.model_copy(update={"version": "2"}), point).key,
        cell_name(here, one.model_copy(update={"precision": "fp8"}), point).key,
    ]
    for name, value in (("argv", [*launch["argv"], "--x"]), ("env", {"OMP_NUM_THREADS": "1"})):
        other = one.model_copy(update={"launch": {**launch, name: value}})
        keys.append(cell_name(here, other, point).key)
    for part, change in (
        ("contract", {"prompt_tokens": "33"}),
        ("contract", {"model": "another"}),
        ("contract", {"cached_prefix_tokens": 8}),
        ("matrix", {"requests": 201}),
        ("matrix", {"warmup_requests": 50}),
        ("matrix", {"seed": 43}),
        ("matrix", {"decision_duration_s": 700.0}),
    ):
        changed = _changed(here, **{part: getattr(here, part).model_copy(update=change)})
        keys.append(cell_name(changed, one, point).key)

    assert len(set(keys)) == len(keys)


def test_a_key_does_not_change_with_what_the_cell_does_not_depend_on(here: RunPlan) -> None:
    one, point = here.candidates[0], here.load_point("closed-4")
    key = cell_name(here, one, point).key
    matrix = here.matrix.model_copy(update={"replications": 9})

    assert cell_name(_changed(here, run="another", matrix=matrix), one, point).key == key
    dearer = one.model_copy(update={"price": None, "reason": "x", "ranks": ("primary",)})
    assert cell_name(here, dearer, point).key == key
    named = one.model_copy(update={"name": "other"})
    assert cell_name(here, named, point).key == key


def test_a_secret_is_no_part_of_a_key(here: RunPlan) -> None:
    one, point = here.candidates[0], here.load_point("closed-4")

    def with_key(value: str) -> dict[str, Any]:
        env = {"VLLM_API_KEY": value, "TOKENIZERS_PARALLELISM": "true"}
        launch = {**(one.launch or {}), "env": env}
        return cell_identity(here, one.model_copy(update={"launch": launch}), point)

    assert with_key("first")["env"] == {
        "VLLM_API_KEY": "***",
        "TOKENIZERS_PARALLELISM": "true",
    }
    assert with_key("first") == with_key("second")


def test_launches_take_turns_by_replication_and_each_has_an_order_of_its_own(
    tmp_path: Path,
) -> None:
    candidates = [
        {"name": name, "host": "local", "runtime": "rehearsal"} for name in ("a", "b", "c")
    ]
    matrix = {"concurrency": [1, 2, 4, 8, 16], "replications": 6}
    path, _ = campaign_of(tmp_path, {"candidates": candidates, "matrix": matrix})
    plan = plan_of(path)

    rounds = [
        list(group) for _, group in itertools.groupby(plan.order, lambda v: v.replication)
    ]
    assert [len(each) for each in rounds] == [3] * 6
    assert all({visit.candidate for visit in each} == {"a", "b", "c"} for each in rounds)
    assert len({tuple(visit.candidate for visit in each) for each in rounds}) > 1
    names = {point.name for point in plan.matrix.load_points}
    assert all(set(visit.load_points) == names for visit in plan.order)
    assert len({visit.load_points for visit in plan.order}) > 10
    assert plan.order == plan_of(path).order


def test_candidates_that_are_not_measured_are_not_visited(canonical: RunPlan) -> None:
    assert {visit.candidate for visit in canonical.order} == {"B", "C"}


def test_the_deciding_cell_is_measured_for_ten_minutes_and_the_others_by_requests(
    canonical: RunPlan,
) -> None:
    times = {point.name: duration_s(canonical, point) for point in canonical.matrix.load_points}

    assert times.pop("closed-16") == 600.0
    assert set(times.values()) == {None}


def test_rates_that_are_to_be_proven_are_measured_as_long_and_searched_ones_are_not(
    canonical: RunPlan,
) -> None:
    assert duration_s(canonical, poisson_point(7.5)) == 600.0
    assert duration_s(canonical, search_point(7.5)) is None


def test_with_a_demand_every_rate_lasts_as_long_as_what_decides(canonical: RunPlan) -> None:
    """The highest that holds sizes the fleet, and nobody knows before which one that is."""
    demand = DemandFacts(peak_per_s=4, mean_per_s=1)
    contract = canonical.contract.model_copy(update={"demand": demand})
    plan = canonical.model_copy(update={"contract": contract})
    rates = [point for point in plan.matrix.load_points if point.is_open]

    assert rates
    assert {duration_s(plan, point) for point in rates} == {600.0}
    assert {duration_s(canonical, point) for point in rates} == {None}


@pytest.mark.parametrize(
    ("percentile", "requests", "ttft_ms", "expected"),
    [
        (95, 20, 100, 118),
        (95, 200, 100, 200),
        (99, 200, 100, 598),
        (95, 20, None, 118),
        (95, 20, 1000, 450),  # 60 s: 5% too much would make the last ones wait for 3 s
    ],
)
def test_a_searched_level_has_requests_enough_to_hold_and_to_show_an_overload(
    canonical: RunPlan, percentile: float, requests: int, ttft_ms: float | None, expected: int
) -> None:
    changed = {"percentile": percentile, "ttft_ms": ttft_ms}
    slo = canonical.contract.slo.model_copy(update=changed)
    contract = canonical.contract.model_copy(update={"slo": slo})
    matrix = canonical.matrix.model_copy(update={"requests": requests})
    plan = canonical.model_copy(update={"contract": contract, "matrix": matrix})

    assert timed_requests(plan, search_point(7.5)) == expected
    assert timed_requests(plan, poisson_point(7.5)) == requests


def test_a_slow_cell_lasts_until_its_requests_are_there(tmp_path: Path) -> None:
    rate = {"contract": {"concurrency": None, "rate": "0.1/s"}}
    plan = plan_of(campaign_of(tmp_path, rate)[0])
    assert duration_s(plan, plan.load_point("poisson-0.1")) == pytest.approx(2565.69, abs=0.01)

    slow = {"slo": {"ttft": "30 s", "itl": "1 s"}, "concurrency": 1}
    plan = plan_of(campaign_of(tmp_path, {"contract": slow})[0])
    assert duration_s(plan, plan.load_point("closed-1")) == 200 * (30 + 16)


def test_an_offline_cell_lasts_as_long_as_its_goal_leaves_the_requests(tmp_path: Path) -> None:
    """200 of 6,000 requests in ten hours."""
    goal = {"requests": 6000, "deadline": "10 h"}
    contract = {"offline": goal, "slo": {}, "concurrency": None}
    plan = plan_of(campaign_of(tmp_path, {"contract": contract})[0])

    assert {duration_s(plan, point) for point in plan.matrix.load_points} == {1200.0}

    tokens = {"offline": {"tokens_per_hour": "5760 tok/h"}, "slo": {}, "concurrency": None}
    plan = plan_of(campaign_of(tmp_path, {"contract": tokens})[0])
    assert duration_s(plan, plan.load_point("closed-1")) == pytest.approx(2000.0)


def test_lengths_of_a_file_are_known_to_the_plan(tmp_path: Path) -> None:
    (tmp_path / "lengths.txt").write_text("10\n20\n60\n")
    contract = {"output_tokens": "file:lengths.txt", "concurrency": 1}
    slow = {"slo": {"ttft": "30 s", "itl": "1 s"}}
    plan = plan_of(campaign_of(tmp_path, {"contract": {**contract, **slow}})[0])

    assert duration_s(plan, plan.load_point("closed-1")) == 200 * (30 + 60)
    assert plan.contract.mean_output_tokens == 30.0


def test_a_cell_by_time_holds_the_requests_that_the_limits_allow(
    canonical: RunPlan, tmp_path: Path
) -> None:
    found = {
        point.name: least_requests(canonical, point) for point in canonical.matrix.load_points
    }
    assert found.pop("closed-16") == 2285  # 16 streams, 600 s, 4.2 s a request
    assert set(found.values()) == {200}

    rate = {"contract": {"concurrency": None, "rate": "1/s"}}
    plan = plan_of(campaign_of(tmp_path, rate)[0])
    assert least_requests(plan, plan.load_point("poisson-1")) == 502


def test_an_exploratory_cell_ends_with_its_requests(tmp_path: Path) -> None:
    path, _ = campaign_of(tmp_path, {"exploratory": True, "matrix": {"requests": 50}})
    plan = plan_of(path)

    assert {duration_s(plan, point) for point in plan.matrix.load_points} == {None}


@pytest.mark.parametrize(
    ("key", "value", "seen"),
    [
        ("requests", 199, "199 timed requests"),
        ("replications", 2, "2 cannot show"),
        ("duration", "599 s", "599 s is too short"),
    ],
)
def test_a_matrix_too_small_to_decide_is_refused_unless_it_says_exploratory(
    tmp_path: Path, key: str, value: object, seen: str
) -> None:
    _, campaign = campaign_of(tmp_path, {"matrix": {key: value}})

    with pytest.raises(CatalogError, match=f"matrix.{key}: {seen}.*exploratory: true"):
        check_amounts(campaign)
    check_amounts(campaign.model_copy(update={"exploratory": True}))


def test_a_cell_asks_the_load_generator_for_what_the_plan_says(tmp_path: Path) -> None:
    path, campaign = campaign_of(
        tmp_path, {"contract": {"cached_prefix_tokens": 8}, "matrix": {"rates": ["8/s"]}}
    )
    plan = plan_of(path)
    one = plan.candidate("one")

    spec = cell_spec(
        plan,
        campaign.contract,
        one,
        plan.load_point("closed-8"),
        2,
        endpoints=[ENDPOINT],
        served_model="m",
        launch="l2",
    )

    assert (spec.load.process, spec.load.concurrency, spec.load.rate_per_s) == (
        "closed",
        8,
        None,
    )
    assert (spec.amount.requests, spec.amount.duration_s) == (300, None)
    assert spec.amount.discarded(spec.load) == 100
    assert (spec.slo.ttft_ms, spec.slo.itl_ms, spec.slo.goodput) == (500.0, 100.0, 0.95)
    assert spec.content.shared is not None
    assert spec.content.shared.tokens == 8
    assert (spec.target.dialect, spec.target.model) == ("completions", "m")
    assert (spec.replication, spec.launch, spec.temperature) == (2, "l2", 0.0)
    assert spec.seed == cell_seed(plan, plan.load_point("closed-8"), 2)
    assert spec.cell == cell_name(plan, one, plan.load_point("closed-8")).folder


def test_two_candidates_are_asked_the_same_at_the_same_times(tmp_path: Path) -> None:
    path, campaign = campaign_of(tmp_path)
    plan = plan_of(path)

    def asked(name: str, replication: int) -> tuple[object, ...]:
        spec = cell_spec(
            plan,
            campaign.contract,
            plan.candidate(name),
            plan.load_point("closed-4"),
            replication,
            endpoints=[ENDPOINT],
            served_model=name,
        )
        return spec.seed, spec.replication, spec.load, spec.content, spec.amount

    assert asked("one", 1) == asked("two", 1)
    assert asked("one", 1) != asked("one", 2)


def test_an_open_cell_with_a_cap_and_a_cell_by_time(tmp_path: Path) -> None:
    both = {"contract": {"concurrency": 16, "rate": "8/s"}}
    path, campaign = campaign_of(tmp_path, both)
    plan = plan_of(path)

    spec = cell_spec(
        plan,
        campaign.contract,
        plan.candidate("one"),
        plan.load_point("poisson-8-cap16"),
        0,
        endpoints=[ENDPOINT],
        served_model="m",
    )

    assert (spec.load.rate_per_s, spec.load.concurrency) == (8.0, 16)
    assert (spec.amount.requests, spec.amount.duration_s) == (None, 600.0)


def test_levels_above_a_proven_miss_are_named_and_the_contracts_own_never() -> None:
    points = [closed_point(n) for n in (1, 8, 16, 32)]
    points += [poisson_point(8.0), poisson_point(4.0, 16), poisson_point(8.0, 16)]

    assert above_a_miss(points, ["closed-8"], "closed-16") == ("closed-32",)
    assert above_a_miss(points, ["poisson-4-cap16"], "closed-1") == ("poisson-8-cap16",)
    assert above_a_miss(points, [], "closed-16") == ()


def test_more_streams_may_do_the_work_that_fewer_do_not() -> None:
    points = [closed_point(n) for n in (1, 8, 16)]

    assert above_a_miss(points, ["closed-1"], None) == ()


CONTROLLED = {
    "model_name_or_path": lambda plan, one: plan.contract.model,
    "weight_dtype": lambda plan, one: one.launch["controlled"]["weights"],
    "kv_cache_dtype": lambda plan, one: one.launch["controlled"]["kv_cache"],
    "engine_name": lambda plan, one: one.runtime,
    "engine_version": lambda plan, one: one.version,
    "backend_driver_version": lambda plan, one: one.driver,
    "attention_kernel": lambda plan, one: one.launch["controlled"]["attention_backend"],
    "tensor_parallel_size": lambda plan, one: one.launch["controlled"]["tensor_parallel"],
    "max_model_len": lambda plan, one: one.launch["controlled"]["max_model_len"],
    "gpu_memory_utilization": lambda plan, one: one.launch["controlled"]["memory_utilisation"],
    "device_model": lambda plan, one: one.device,
    "input_length_distribution": lambda plan, one: plan.contract.prompt_tokens,
    "output_length_distribution": lambda plan, one: plan.contract.output_tokens,
    "arrival_process": lambda plan, one: plan.load_point("poisson-8").process,
    "concurrency_sweep": lambda plan, one: plan.load_point("closed-32").concurrency,
    "warmup_protocol": lambda plan, one: plan.matrix.warmup,
    "timed_requests": lambda plan, one: plan.matrix.requests,
    "independent_replications": lambda plan, one: plan.matrix.replications,
    "seed": lambda plan, one: plan.matrix.seed,
    "temperature": lambda plan, one: str(plan.matrix.temperature),
}


@pytest.mark.parametrize("variable", CONTROLLED)
def test_every_controlled_variable_is_asked_in_the_plan(tmp_path: Path, variable: str) -> None:
    text = CANONICAL.read_text().replace(
        "    version: 0.6.3\n", "    version: 0.6.3\n    driver: 550.54.15\n", 1
    )
    path = tmp_path / "campaign.yaml"
    path.write_text(text)
    plan = plan_of(path)

    assert CONTROLLED[variable](plan, plan.candidate("B"))
