"""Run directories as small as the history needs them: plan, conclusion, manifest; any date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catalog.quantity import Basis
from reports.manifest import write_manifest
from reports.run import layout
from reports.run.decision_file import Decision, Ranked
from reports.run.layout import RunFolder
from reports.run.number import Number
from reports.run.plan_file import (
    CandidateFacts,
    ContractFacts,
    LoadPoint,
    MatrixFacts,
    PriceFacts,
    RunPlan,
    SloFacts,
)
from reports.run.read import file_text
from reports.run.summary_file import (
    CandidateSummary,
    CellSummary,
    ClauseSummary,
    LaunchSummary,
    Summary,
)

TODAY = dt.date(2026, 3, 1)
START = dt.datetime(2026, 1, 1, 6, tzinfo=dt.UTC)
POINTS = tuple(LoadPoint(name=f"closed-{n}", process="closed", concurrency=n) for n in (4, 8))
UNITS = {
    "ttft_p50_ms": "ms",
    "ttft_p95_ms": "ms",
    "ttft_p99_ms": "ms",
    "tpot_p95_ms": "ms",
    "itl_p95_ms": "ms",
    "e2e_p95_ms": "ms",
    "output_tokens_per_s": "tok/s",
    "requests_per_s": "/s",
    "usd_per_1m_compliant": "USD/Mtok",
}


def make_run(
    root: Path,
    place: int,
    *,
    campaign: str = "nightly",
    level: float = 1.0,
    cv: float = 0.01,
    names: Sequence[str] = ("B", "C"),
    price: float = 3.67,
    release: str = "0.6.3",
    verdict: str = "valid",
    notes: Mapping[str, str] | None = None,
    plan: Mapping[str, Any] | None = None,
    decision: Mapping[str, Any] | None = None,
) -> RunFolder:
    """The run of day ``place``; ``level`` scales B's latencies, ``notes`` empties measures."""
    at = START + dt.timedelta(days=place)
    folder = RunFolder(root / campaign / f"{at:%Y%m%dT%H%M%SZ}-0000abcd")
    folder.path.mkdir(parents=True)
    whole = _plan(folder.path.name, at, names, campaign=campaign, price=price, release=release)
    whole = whole.model_copy(update=dict(plan or {}))
    rng = np.random.default_rng([place, *campaign.encode()])
    basis = Basis.SIMULATION if whole.rehearsal else Basis.MEASUREMENT
    candidates = tuple(
        CandidateSummary(
            name=name,
            cells=tuple(
                _cell(
                    point.name,
                    float(np.exp(cv * rng.standard_normal())) * (level if name == "B" else 1),
                    verdict,
                    basis,
                    notes or {},
                )
                for point in POINTS
            ),
            launches=(
                LaunchSummary(replication=0, state="ready", fingerprint=f"{release}-{name}"),
            ),
        )
        for name in names
    )
    summary = Summary(
        method_version=whole.method_version,
        campaign=campaign,
        run=whole.run,
        rehearsal=whole.rehearsal,
        candidates=candidates,
    )
    made = Decision(
        method_version=1,
        outcome="chosen",
        chosen="B",
        sentence="B is chosen.",
        ranked_by="USD per 1M compliant tokens",
        ranking=tuple(
            Ranked(name=name, rank=rank, standing="complies", why="", decision_point="closed-4")
            for rank, name in enumerate(names, start=1)
        ),
        stamp="REHEARSAL" if whole.rehearsal else "MEASURED",
        exit_code=0,
    ).model_copy(update=dict(decision or {}))
    for name, part in (
        (layout.PLAN, whole),
        (layout.SUMMARY, summary),
        (layout.DECISION, made),
    ):
        folder.file(name).write_text(file_text(part))
    folder.file(layout.REPORT_HTML).write_text("<!doctype html>")
    write_manifest(folder)
    return folder


def stepped(
    root: Path, before: int = 8, after: int = 3, step: float = 1.05, **made: Any
) -> None:
    """Runs of one level, then runs of another."""
    for place in range(before + after):
        make_run(root, place, level=1.0 if place < before else step, **made)


def _plan(
    run: str,
    at: dt.datetime,
    names: Sequence[str],
    *,
    campaign: str,
    price: float,
    release: str,
) -> RunPlan:
    return RunPlan(
        runoff_version="0.1.0",
        campaign=campaign,
        run=run,
        created_at=at.isoformat(),
        campaign_sha256="1" * 63 + "2",
        catalog_digest="0" * 63 + "1",
        contract=ContractFacts(
            model="m",
            weights="bfloat16",
            kv_cache="bfloat16",
            prompt_tokens="1024",
            output_tokens="128",
            output="forced",
            concurrency=4,
            slo=SloFacts(ttft_ms=1000, itl_ms=25, goodput=0.95),
        ),
        matrix=MatrixFacts(
            load_points=POINTS,
            decision_point="closed-4",
            requests=200,
            warmup="fixed",
            warmup_requests=20,
            replications=3,
            seed=42,
        ),
        candidates=tuple(
            CandidateFacts(
                name=name,
                kind="launch",
                host=f"host-{name}",
                host_class="ssh",
                device="nvidia-a100-80gb-sxm4",
                runtime="vllm",
                version=release,
                precision="bfloat16",
                price=PriceFacts(value=price, unit="USD/h", basis=Basis.ASSUMPTION),
            )
            for name in names
        ),
        order=(),
    )


def _cell(
    point: str, factor: float, verdict: str, basis: Basis, notes: Mapping[str, str]
) -> CellSummary:
    def number(name: str, unit: str) -> Number:
        value = None if name in notes else 100.0 * factor
        return Number(
            value=value,
            unit=unit,
            basis=basis,
            low=value and value * 0.98,
            high=value and value * 1.02,
            level=0.95,
            n=600,
            runs=3,
            note=notes.get(name),
        )

    goodput = ClauseSummary(
        name="goodput",
        statistic="goodput (tpot)",
        limit=0.95,
        number=Number(value=0.99, unit="1", basis=basis, low=0.97, level=0.95),
        verdict="holds",
    )
    return CellSummary.model_validate(
        {
            "load_point": point,
            "key": "0123abcd",
            "basis": basis,
            "verdict": verdict,
            "problems": (),
            "requests": {"measured": 600},
            "replications": (),
            "measures": {name: number(name, unit) for name, unit in UNITS.items()},
            "clauses": {"goodput": goodput},
            "goodput": {},
        }
    )
