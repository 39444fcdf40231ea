"""What quality is estimated to take: prompts, questions and tokens by streams, and the wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.fixed_prompts import text_prompts
from flows import qualifying
from flows.budget import totals
from flows.quality.harness import Tasks
from flows.quality.measuring import Setup
from flows.quality.questions import read_questions
from reports.run.plan_file import EstimateItem, RunPlan
from tests.flows.plans import CANONICAL, campaign_of, plan_of

TTFT_S, ITL_S = 1.0, 0.025  # the canonical contract's limits
TWO = [
    {"name": name, "host": "local", "runtime": "llama_server", "precision": precision}
    for name, precision in (("f16", "float16"), ("q8", "gguf_q8_0"))
]
OURS = {
    "name": "ours",
    "endpoint": ["https://serving.example.com/v1/completions"],
    "price": "$2/Mtok",
}
LETTER = {"question": "Which is larger?", "choices": ["2/3", "3/5"], "answer": "A"}
TEXT = {"question": "What is 12 times 12?", "answer": "144"}


@pytest.fixture(scope="module")
def canonical() -> RunPlan:
    return plan_of(CANONICAL)


def planned(
    folder: Path,
    quality: Mapping[str, Any] | str,
    *candidates: Mapping[str, Any],
    **changes: Any,
) -> RunPlan:
    contract = {
        "quality": quality,
        "precision": {"weights": "float16", "kv_cache": "float16"},
        "slo": {"ttft": "1000 ms", "itl": "25 ms"},
        **changes.pop("contract", {}),
    }
    path, _ = campaign_of(
        folder, {"contract": contract, "candidates": list(candidates or TWO), **changes}
    )
    return plan_of(path, file=path)


def found(plan: RunPlan, name: str, what: str) -> EstimateItem:
    (item,) = (
        each
        for each in plan.estimate
        if each.what.startswith(f"{name}: quality, ") and what in each.what
    )
    return item


def of_quality(plan: RunPlan) -> list[str]:
    return [each.what for each in plan.estimate if "quality" in each.what]


def test_the_reference_answers_the_fixed_set_twice_and_others_once(canonical: RunPlan) -> None:
    once_s = 240 / 16 * (TTFT_S + 31 * ITL_S + TTFT_S)  # 32 tokens freely, one forced

    reference = found(canonical, "B", "240 prompts, twice")
    other = found(canonical, "C", "240 prompts")

    assert "twice" not in other.what
    assert other.high_s == pytest.approx(once_s)
    assert reference.high_s == pytest.approx(2 * once_s)
    assert other.low_s == pytest.approx(240 / 16 * 9 * 4.22015e-3, rel=1e-4)  # C's bound


def test_a_reference_whose_answers_may_be_kept_takes_nothing_at_the_low_end(
    canonical: RunPlan, tmp_path: Path
) -> None:
    service = planned(tmp_path, {"reference": "ours"}, OURS, *TWO)

    assert found(canonical, "B", "prompts").low_s == 0
    assert found(canonical, "B", "questions").low_s == 0
    assert found(service, "ours", "240 prompts, twice").low_s > 0


def test_each_candidate_has_a_launch_of_its_own_and_a_service_none(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"reference": "float16"}, *TWO, OURS)
    cells = next(each for each in plan.estimate if each.what == "f16: 3 launches")

    assert found(plan, "f16", "a launch").high_s == pytest.approx(cells.high_s / 3)
    assert [each for each in of_quality(plan) if "a launch" in each] == [
        "f16: quality, a launch",
        "q8: quality, a launch",
    ]


def test_tasks_take_their_questions_with_the_harness_beside_them(canonical: RunPlan) -> None:
    item = found(canonical, "C", "questions")
    letters_s = 14_042 / 16 * 4 * TTFT_S  # by the likelihood of four choices
    texts_s = 1_319 / 16 * (TTFT_S + 255 * ITL_S)

    assert item.what == "C: quality, 15,361 questions"
    assert item.high_s == pytest.approx(120 + letters_s + texts_s)
    assert item.low_s == pytest.approx(5 + 15_361 / 16 * 4.22015e-3, rel=1e-4)


def test_samples_are_taken_of_each_task_of_a_group(tmp_path: Path) -> None:
    quality = {"reference": "float16", "tasks": ["mmlu", "gsm8k"], "samples": 10}

    assert "580 questions" in found(planned(tmp_path, quality), "q8", "questions").what


def test_a_task_that_is_not_known_has_from_few_to_many_questions(tmp_path: Path) -> None:
    quality = {"reference": "float16", "tasks": ["somebodys"]}

    assert "1,000 to 14,000 questions" in found(planned(tmp_path, quality), "q8", "quest").what


@pytest.mark.parametrize(
    ("row", "most_s"),
    [(LETTER, 4 * TTFT_S), (TEXT, TTFT_S + 255 * ITL_S)],
)
def test_questions_of_ones_own_are_counted_and_their_kind_is_seen(
    tmp_path: Path, row: Mapping[str, Any], most_s: float
) -> None:
    rows = [{**row, "question": f"{row['question']} ({number})"} for number in range(8)]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))

    plan = planned(tmp_path, {"reference": "float16", "tasks": ["file:own.jsonl"]})
    item = found(plan, "q8", "questions")

    assert item.what == "q8: quality, 8 questions"
    assert item.high_s == pytest.approx(120 + 8 / 4 * most_s)


def test_a_file_that_cannot_be_read_is_planned_as_a_task_that_is_not_known(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, {"reference": "float16", "tasks": ["file:missing.jsonl"]})

    assert "1,000 to 14,000 questions" in found(plan, "q8", "questions").what


def test_random_weights_are_asked_by_ids(tmp_path: Path) -> None:
    dummies = [{**each, "checkpoint": "dummy"} for each in TWO]

    assert found(planned(tmp_path, {"reference": "float16"}, *dummies), "q8", "200 prompts")


def test_a_service_that_is_paid_by_the_token_is_paid_for_its_answers(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"reference": "float16"}, *TWO, OURS)
    item = found(plan, "ours", "240 prompts")

    assert item.low_usd == pytest.approx(240 * (8 + 1) / 1e6 * 2)
    assert item.high_usd == pytest.approx(240 * (32 + 1) / 1e6 * 2)


def test_an_endpoint_that_is_the_reference_is_asked_beside_the_first_candidate(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, {"reference": "https://example.org/v1/completions"})

    assert of_quality(plan) == [
        "f16: quality, a launch",
        "quality of the reference's endpoint, 240 prompts, twice",
        "f16: quality, 240 prompts",
        "q8: quality, a launch",
        "q8: quality, 240 prompts",
    ]


def test_a_contract_without_limits_counts_a_tenth_of_a_second_for_a_token(
    tmp_path: Path,
) -> None:
    slo = {"ttft": None, "itl": None}
    plan = planned(tmp_path, {"reference": "float16"}, contract={"slo": slo})

    assert found(plan, "q8", "prompts").high_s == pytest.approx(240 / 4 * 33 * 0.1)


def test_nothing_is_estimated_where_nothing_is_measured(tmp_path: Path) -> None:
    simulated = [{"name": name, "host": "local", "runtime": "rehearsal"} for name in "ab"]

    for plan in (
        plan_of(campaign_of(tmp_path)[0]),
        planned(tmp_path, {"reference": "bfloat16"}),
        planned(tmp_path, {"reference": "a"}, *simulated),
        plan_of(CANONICAL, rehearsal=True),
    ):
        assert of_quality(plan) == []


def test_every_machine_stays_until_the_last_answer_of_all(canonical: RunPlan) -> None:
    """Cells of all machines end, then one candidate after another is asked."""
    by_host: dict[str, float] = {}
    cells: dict[str, float] = {}
    for each in canonical.estimate:
        if "release" in each.what:
            continue
        by_host[each.host] = by_host.get(each.host, 0.0) + each.high_s
        if "quality" not in each.what:
            cells[each.host] = cells.get(each.host, 0.0) + each.high_s
    asked_s = sum(each.high_s for each in canonical.estimate if ": quality, " in each.what)

    assert len(by_host) == 2
    for seconds in by_host.values():
        assert seconds == pytest.approx(max(cells.values()) + asked_s)
    assert totals(canonical.estimate).wall_s.high == pytest.approx(max(by_host.values()) + 120)
    assert all(each.low_s <= each.high_s for each in canonical.estimate)


def test_candidates_of_one_machine_wait_for_nobody(tmp_path: Path) -> None:
    assert not any(
        "wait" in each for each in of_quality(planned(tmp_path, {"reference": "float16"}))
    )


def test_the_budget_refuses_by_what_the_plan_estimates(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(json.dumps(TEXT))
    names = ("file:own.jsonl", "gsm8k")
    plan = planned(tmp_path, {"reference": "float16", "tasks": list(names)})
    setup = Setup(
        asked=plan.contract.quality,
        prompts=text_prompts(),
        answer_tokens=32,
        streams=4,
        tasks=Tasks(names=names, files={names[0]: read_questions(tmp_path / "own.jsonl")}),
        environment={},
        look=lambda: None,
        said=lambda _: None,
    )
    work = SimpleNamespace(plan=plan, facts=plan.candidate)

    for name in ("f16", "q8"):
        asked = [found(plan, name, what).high_s for what in ("prompts", "questions")]
        assert qualifying.most_s(work, name, setup) == pytest.approx(sum(asked))
