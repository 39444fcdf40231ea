from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from flows.console import Console
from flows.run_plan_view import show_run_plan
from tests.flows.plans import campaign_of, plan_of


def _shown(folder: Path, **changes: Any) -> str:
    stream = io.StringIO()
    show_run_plan(Console(stream), plan_of(campaign_of(folder, changes)[0]))
    return stream.getvalue()


def test_a_search_is_announced_with_its_bound(tmp_path: Path) -> None:
    out = _shown(tmp_path, matrix={"rates": "search"})

    assert "rates, searched" in out
    assert "6 levels at most, then both ends of the bracket" in out


def test_every_level_of_an_offline_contract_decides(tmp_path: Path) -> None:
    goal = {"offline": {"tokens_per_hour": "1e6 tok/h"}, "slo": {}, "concurrency": None}
    out = _shown(tmp_path, contract=goal)

    assert out.count("the decision: one of a family") == 3
    assert "skipped once" not in out


def test_a_plan_of_real_and_simulated_engines_says_that_some_are(tmp_path: Path) -> None:
    both = [
        {"name": "real", "host": "local", "runtime": "vllm_cpu"},
        {"name": "sim", "host": "local", "runtime": "rehearsal"},
    ]

    assert "REHEARSAL: some engines are simulated" in _shown(tmp_path, candidates=both)
    assert "REHEARSAL: every engine is simulated" in _shown(tmp_path, candidates=both[1:])


def test_a_stale_price_and_an_unknown_one_are_said(tmp_path: Path) -> None:
    offered = {"name": "o", "offer": "aws/p4d.24xlarge", "runtime": "vllm"}
    nobody = {"name": "n", "host": "local", "runtime": "rehearsal"}
    contract = {"model": "meta-llama/Meta-Llama-3-8B-Instruct", "prompt_tokens": 1024}
    out = _shown(tmp_path, candidates=[offered, nobody], contract=contract)

    assert "(stale)" in out
    assert "unknown  " in out


def test_a_candidate_that_can_be_had_nowhere_is_said_to_be(tmp_path: Path) -> None:
    device = {"name": "d", "device": "nvidia-a100-80gb-sxm4", "runtime": "vllm"}
    out = _shown(tmp_path, candidates=[device])

    assert "neither an offer nor a host is named: nothing can be acquired for it" in out


def test_a_budget_without_prices_cannot_be_held(tmp_path: Path) -> None:
    here = {"name": "here", "host": "local", "runtime": "vllm_cpu"}
    out = _shown(tmp_path, candidates=[here], budget={"usd": 5})

    assert "the budget of $5.00 cannot be held against it: a price is not known" in out
    assert "cost unknown: a price is not known" in out
