"""A concluded run to make pages of: real evidence and summary, a decision written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from catalog.quantity import Basis
from reports.manifest import manifest_sha256, write_manifest
from reports.render import report_of
from reports.report import Report
from reports.run import layout
from reports.run.checks_file import Check, Checks
from reports.run.decision_file import Bracket, Comparison, Decision, Flip, Limiter, Ranked
from reports.run.layout import RunFolder
from reports.run.number import Number
from reports.run.plan_file import LoadPoint, RunPlan
from reports.run.read import file_text, read_run
from reports.run.summary_file import Summary
from tests.reports.run.builder import CLOSED, ON_PAPER, POISSON, B, C, Made, build_run

RATES = tuple(
    LoadPoint(name=f"poisson-{rate}", process="poisson", rate_per_s=float(rate))
    for rate in (2, 4, 8)
)


def sample(
    root: Path, made: Sequence[Made] = (B, C, *ON_PAPER), *, requests: int = 200, **changes: Any
) -> RunFolder:
    """A concluded run directory; ``changes`` replace fields of its decision."""
    plan = {name: changes.pop(name) for name in list(changes) if name in PLAN_CHANGES}
    folder = build_run(
        root,
        made,
        points=(CLOSED[1], CLOSED[4], CLOSED[8], POISSON, *RATES),
        requests=requests,
        duration_s=60.0,
        **plan,
    )
    run = read_run(folder.path)
    summary = summarised(folder)
    write(folder, layout.SUMMARY, summary)
    write(folder, layout.CHECKS, CHECKS)
    write(folder, layout.DECISION, decision_of(run.plan, summary, **changes))
    write_manifest(folder)
    return folder


PLAN_CHANGES = ("plan", "contract", "rehearsal", "exploratory", "replications", "seed")


def summarised(folder: RunFolder) -> Summary:
    """The summary of the evidence."""
    from reports.gathered import gathered
    from reports.summary import summary_of

    run = read_run(folder.path)
    return summary_of(run, gathered(run))


def report_from(folder: RunFolder) -> Report:
    """The report's values of a concluded run."""
    assert manifest_sha256(folder)
    return report_of(folder)


def write(folder: RunFolder, name: str, model: Any) -> None:
    """One of the decision's files."""
    folder.file(name).write_text(file_text(model), encoding="utf-8")


def decision_of(plan: RunPlan, summary: Summary, **changes: Any) -> Decision:
    """B is chosen, whatever was measured."""
    values: dict[str, Any] = {
        "method_version": plan.method_version,
        "outcome": "chosen",
        "chosen": plan.candidates[0].name,
        "sentence": "B keeps the contract at the lowest cost: $1.28 per 1M compliant tokens.",
        "because": (
            "B and C hold every clause at closed-4.",
            "B costs 43% less per 1M compliant tokens.",
        ),
        "runner_up": "C",
        "gap": COMPARISONS[0],
        "ranked_by": "$ per 1M compliant tokens at the contract's load",
        "ranking": tuple(_ranked(plan, summary)),
        "comparisons": COMPARISONS,
        "flips": (
            Flip(
                what="price",
                candidate="C",
                now=_number(7.34, "USD/h"),
                flips_at=_number(4.2, "USD/h"),
                sentence="C wins below $4.20/h (now $7.34/h).",
            ),
        ),
        "rule": ("Candidates that miss a clause leave.", "The lowest cost wins."),
        "blockers": ("quality not measured",),
        "stamp": "REHEARSAL" if plan.rehearsal else "MEASURED",
        "exit_code": 0,
    }
    return Decision(**{**values, **changes})


def _ranked(plan: RunPlan, summary: Summary) -> list[Ranked]:
    places = []
    for rank, facts in enumerate(plan.candidates, start=1):
        measured = summary.candidate(facts.name)
        cell = measured.cell("closed-4") if measured is not None else None
        if cell is None:
            places.append(
                Ranked(
                    name=facts.name,
                    rank=None,
                    standing="voted out on paper" if not facts.measured else "failed",
                    why=facts.skipped or "no launch came up",
                )
            )
            continue
        clauses = {name: each.verdict for name, each in cell.clauses.items()}
        holds = "misses" not in clauses.values()
        places.append(
            Ranked(
                name=facts.name,
                rank=rank,
                standing="complies" if holds else "misses",
                why="",
                clauses=clauses,
                decision_point="closed-4",
                usd_per_1m=cell.measures.get("usd_per_1m_compliant"),
                held_rate=Bracket(highest_proven=4.0, lowest_disproven=8.0),
                limiter=Limiter(
                    what="itl",
                    measured="TPOT p95 is 61% of its limit, KV memory 20% full",
                    means="Decode steps, not memory, come first to their limit.",
                    do="Try a smaller batch or faster memory.",
                    verify="TPOT p95 falls at the same load.",
                ),
            )
        )
    return places


def _number(value: float, unit: str, **changes: Any) -> Number:
    return Number(value=value, unit=unit, basis=Basis.MEASUREMENT, **changes)


COMPARISONS = (
    Comparison(
        candidate="C",
        against="B",
        metric="usd_per_1m_compliant",
        ratio=_number(1.42, "1", low=1.36, high=1.49, level=0.95, runs=3),
        margin=0.05,
        p=0.0004,
        p_adjusted=0.0008,
        word="worse",
    ),
    Comparison(
        candidate="C",
        against="B",
        metric="tpot_p95_ms",
        ratio=_number(0.74, "1", low=0.71, high=0.78, level=0.95, runs=3),
        margin=0.05,
        p=0.001,
        p_adjusted=0.002,
        word="better",
    ),
    Comparison(
        candidate="C",
        against="B",
        metric="ttft_p95_ms",
        ratio=_number(1.0, "1", low=0.96, high=1.04, level=0.95, runs=3),
        margin=0.05,
        p=0.4,
        p_adjusted=0.4,
        word="no difference shown",
    ),
)
CHECKS = Checks(
    checks=(
        Check(
            id="sums",
            requirement="Every request is counted once.",
            observed="0 requests lost",
            needed="0",
            verdict="pass",
            candidate="B",
            load_point="closed-4",
            evidence=("cells/B--closed-4--00000000/0.parquet",),
        ),
        Check(
            id="clocks",
            requirement="Clocks stay as they were set.",
            observed="not read on this host",
            needed="within 1%",
            verdict="unknown",
            candidate="C",
        ),
        Check(
            id="client",
            requirement="The client keeps up.",
            observed="send lag p99 3.2 ms",
            needed="≤ 1 ms",
            verdict="fail",
            candidate="C",
            load_point="closed-8",
            decisive=True,
            waivable=False,
        ),
    )
)
