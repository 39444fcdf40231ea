"""What is compared with the baseline, and how: nothing that a price moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from catalog.quantity import Basis
from reports.decide.contender import Contender
from reports.decide.contest import as_file, entries_of, judged
from reports.decide.metric import BESIDE, YIELD, Metric, Values
from reports.run.baseline_file import Baseline
from reports.run.decision_file import Comparison
from reports.run.plan_file import ContractFacts
from reports.stats import compare
from reports.stats.compare import ACROSS_MACHINES, judged_together

TTFT, TPOT, OUTPUT = BESIDE
PINNED: Final = (YIELD, *BESIDE)
_LAUNCHES: Final = 2  # fewer have no interval


def watched(contract: ContractFacts, evidence: Iterable[Mapping[str, object]]) -> list[Metric]:
    """The metrics that the contract makes matter and that all of the evidence has.

    Compliant tokens per machine-hour, else (of a service of others) output tokens per second;
    p95 TTFT and TPOT where the contract limits them.
    """
    sides = tuple(evidence)
    has_yield = all(YIELD.name in side for side in sides)
    wanted = [YIELD if has_yield else OUTPUT]
    wanted += [TTFT] if contract.slo.ttft_ms is not None else []
    wanted += [TPOT] if contract.slo.itl_ms is not None else []
    return [metric for metric in wanted if all(metric.name in side for side in sides)]


def figures_of(each: Contender) -> dict[str, Values]:
    """A candidate's figures by metric; those without any are left out."""
    found = {metric.name: each.measure(each.cell, metric.name) for metric in PINNED}
    return {name: values for name, values in found.items() if any(_known(values))}


def paired_now(
    champion: Contender, control: Contender, contract: ContractFacts
) -> tuple[Comparison, ...]:
    """The champion of today against the control: both in this run, Holm over the metrics."""
    metrics = watched(contract, (figures_of(champion), figures_of(control)))
    entries = {m.name: entries_of((champion, control), m, at_held=False) for m in metrics}
    family = {
        metric.name: judged(
            entries[metric.name][champion.name], entries[metric.name][control.name], metric
        )
        for metric in metrics
    }
    return _as_files(family, metrics, champion, control.name)


def since_then(baseline: Baseline, control: Contender) -> tuple[Comparison, ...]:
    """The control's launches of this run against the baseline's own, Holm over the metrics.

    They share no replication and no day: the margin is that of different machines.
    """
    then = {name: v for name, v in baseline.pinned.figures.items() if any(_known(v))}
    now = figures_of(control)
    metrics = watched(baseline.contract, (now, then))
    family = {
        metric.name: compare.unpaired(
            list(now[metric.name].values()),
            list(then[metric.name].values()),
            better=metric.better,
            margin=ACROSS_MACHINES,
        )
        for metric in metrics
    }
    return _as_files(family, metrics, control, f"{baseline.winner} of {baseline.run}")


def why_not_since(
    baseline: Baseline, control: Contender, contract: ContractFacts, evidence: str, method: int
) -> str | None:
    """Why the control cannot be held against the baseline's own figures; None: it can."""
    pinned, cell = baseline.pinned, control.cell
    if cell is None or cell.verdict != "valid":
        return f"{control.name} has no valid cell at the contract's load"
    reasons = {
        f"the baseline's are {baseline.evidence}, these are {evidence}": evidence
        != baseline.evidence,
        f"the baseline's are by version {baseline.method_version} of the method": method
        != baseline.method_version,
        "the contract is another one": contract != baseline.contract,
        f"the baseline has no valid cell at {cell.load_point}": pinned.verdict != "valid"
        or pinned.decision_point != cell.load_point,
        "one launch has no interval": len(cell.replications) < _LAUNCHES,
    }
    return next((why for why, is_so in reasons.items() if is_so), None)


def _as_files(
    family: Mapping[str, compare.Comparison],
    metrics: Iterable[Metric],
    ours: Contender,
    against: str,
) -> tuple[Comparison, ...]:
    found = judged_together(family)
    basis = Basis.MEASUREMENT if ours.cell is None else ours.cell.basis
    return tuple(
        as_file(
            ours.name,
            against,
            metric,
            found[metric.name],
            found[metric.name].p_adjusted,
            basis=basis,
        )
        for metric in metrics
    )


def _known(values: Values) -> Iterable[bool]:
    return (value is not None for value in values.values())
