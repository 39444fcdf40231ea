"""A small report whose every number is written here."""

from __future__ import annotations

from typing import Any

from catalog.quantity import Basis
from reports.report import Report
from reports.run.checks_file import Check, Checks
from reports.run.decision_file import Bracket, Comparison, Decision, Flip, Limiter, Ranked
from reports.run.number import Number
from reports.run.plan_file import CandidateFacts, PriceFacts, RunPlan
from reports.run.summary_file import (
    CandidateSummary,
    CellSummary,
    ClauseSummary,
    LaunchSummary,
    Summary,
)
from tests.reports.chat import CONTRACT, MATRIX

MANIFEST = "5a" * 32


def measured(value: float | None, unit: str, **changes: Any) -> Number:
    """A measured number with 5 launches and 1,000 requests."""
    found = {"level": 0.95, "n": 1000, "runs": 5, **changes}
    return Number(value=value, unit=unit, basis=Basis.MEASUREMENT, **found)


def small_report(**changes: Any) -> Report:
    """B holds the contract, A left on paper; ``changes`` replace parts of the report."""
    parts: dict[str, Any] = {
        "plan": PLAN,
        "summary": SUMMARY,
        "decision": DECISION,
        "checks": CHECKS,
        "manifest": MANIFEST,
    }
    return Report(**(parts | changes))


def clause(name: str, statistic: str, limit: float, number: Number) -> ClauseSummary:
    """A clause that holds."""
    return ClauseSummary(
        name=name, statistic=statistic, limit=limit, number=number, verdict="holds"
    )


PLAN = RunPlan(
    runoff_version="0.1.0",
    campaign="small",
    run="20260822-120000-0a1b2c3d",
    question="Does B serve the chat?",
    created_at="2026-08-22T12:00:00+00:00",
    campaign_sha256="1b" * 32,
    catalog_digest="2c" * 32,
    contract=CONTRACT,
    matrix=MATRIX,
    candidates=(
        CandidateFacts(
            name="A",
            kind="launch",
            host="a",
            host_class="cloud",
            device="intel-xeon-8480plus-2s",
            runtime="vllm_cpu",
            version="0.32.0",
            verdict="reject",
            clause="p95 ITL ≤ 25 ms",
            measured=False,
            skipped="27.41 ms even at the peak of 614.4 GB/s",
        ),
        CandidateFacts(
            name="B",
            kind="launch",
            host="b",
            host_class="cloud",
            device="nvidia-a100-80gb-sxm4",
            runtime="vllm",
            version="0.6.3",
            price=PriceFacts(
                value=3.67, unit="USD/h", basis=Basis.SPECIFICATION, date="2026-08-01"
            ),
            bound_ttft_ms=46.7,
            bound_itl_ms=8.46,
        ),
    ),
    order=(),
    money_not_spent=Number(value=18.5, unit="USD", basis=Basis.ASSUMPTION),
)
CELL = CellSummary(
    load_point="closed-16",
    key="0a1b2c3d",
    basis=Basis.MEASUREMENT,
    verdict="valid",
    problems=(),
    requests={
        "planned": 1100,
        "sent": 1100,
        "not_sent": 0,
        "ok": 1096,
        "failed": 4,
        "truncated": 0,
        "timed_out": 0,
        "cancelled": 0,
        "warmup": 100,
        "measured": 1000,
        "drain": 0,
    },
    replications=(),
    measures={
        "ttft_p95_ms": measured(340, "ms", low=322, high=361),
        "tpot_p95_ms": measured(18.2, "ms", low=17.9, high=18.5),
        "e2e_p95_ms": measured(2650, "ms", low=2590, high=2710),
        "achieved_rate": measured(6.21, "/s", low=6.1, high=6.3),
        "output_tok_per_s_per_device": measured(795, "tok/s", low=781, high=806),
        "interactivity_tok_per_s": measured(57.1, "tok/s", low=56.2, high=58.0),
        "usd_per_1m_output": measured(1.26, "USD/Mtok", low=1.24, high=1.28),
        "usd_per_1m_compliant": measured(1.28, "USD/Mtok", low=1.26, high=1.31),
    },
    clauses={
        "goodput": clause(
            "goodput",
            "goodput (tpot)",
            0.95,
            measured(0.984, "1", low=0.972, note="984 of 1000"),
        ),
        "itl": clause("itl", "p95 tpot", 25, measured(18.2, "ms", high=18.5)),
        "ttft": clause("ttft", "p95 TTFT", 1000, measured(340, "ms", high=358)),
    },
    goodput={},
)
SUMMARY = Summary(
    method_version=1,
    campaign="small",
    run=PLAN.run,
    rehearsal=False,
    candidates=(
        CandidateSummary(
            name="B",
            cells=(CELL,),
            launches=(LaunchSummary(replication=0, state="ready", start_s=61.5),),
            first_token_s=measured(184, "s", low=170, high=199, n=None),
        ),
    ),
    spent_usd=measured(11.4, "USD", n=None, runs=None, level=None),
)
DECISION = Decision(
    method_version=1,
    outcome="chosen",
    chosen="B",
    sentence="B is chosen: it alone is proven to hold the contract.",
    because=("B holds every clause at closed-16.",),
    ranked_by="cost of 1M compliant tokens",
    ranking=(
        Ranked(
            name="B",
            rank=1,
            standing="complies",
            why="every clause holds",
            decision_point="closed-16",
            usd_per_1m=measured(1.28, "USD/Mtok", low=1.26, high=1.31),
            held_rate=Bracket(highest_proven=4.0, lowest_disproven=6.0),
            limiter=Limiter(
                what="itl",
                measured="p95 tpot 18.2 ms of 25 ms",
                means="A decode step takes most of its time.",
                do="Try faster memory.",
                verify="TPOT falls.",
            ),
        ),
        Ranked(name="A", rank=None, standing="voted out on paper", why="p95 ITL ≤ 25 ms"),
    ),
    comparisons=(
        Comparison(
            candidate="B",
            against="B",
            metric="ttft_p95_ms",
            ratio=measured(1.0, "1", low=0.98, high=1.02),
            margin=0.02,
            word="no difference shown",
        ),
    ),
    flips=(
        Flip(
            what="itl limit",
            candidate="B",
            now=None,
            flips_at=None,
            sentence="With an ITL limit below 18.5 ms B would no longer be proven.",
        ),
    ),
    blockers=("quality not measured",),
    stamp="MEASURED",
    exit_code=0,
)
CHECKS = Checks(
    checks=(
        Check(
            id="sums",
            requirement="Every request is counted once",
            observed="0 lost",
            needed="0",
            verdict="pass",
            candidate="B",
            load_point="closed-16",
        ),
        Check(
            id="clocks",
            requirement="Clocks stay as asked",
            observed="no telemetry",
            needed="telemetry",
            verdict="unknown",
            candidate="B",
            load_point="closed-16",
        ),
    )
)
