"""A run decided again at other prices, from what was measured: nothing is read but small files.

Pure but for reading; nothing is written. At the plan's own prices and at the time at which the
run was concluded the result is the run's own conclusion, bit by bit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from reports.conclusion import Conclusion, concluded
from reports.gathered import gathered
from reports.run.plan_file import CandidateFacts, PriceFacts, RunPlan
from reports.run.read import Run
from reports.run.summary_file import CellSummary, ReplicationSummary, Summary
from reports.summary.money import costs_of, money_of, price_note
from reports.summary.numbers import finite, over_launches, unit_of

COSTS = "usd_per_1m"  # how the measures' names begin that a price changes


def decided_at_prices(
    run: Run, prices: Mapping[str, PriceFacts | None], now: dt.datetime
) -> Conclusion:
    """Return summary, checks and decision of a run at other prices.

    Parameters
    ----------
    prices
        By candidate; None: the price is not known. Candidates that are not named keep theirs.
    now
        The time of the decision: prices older than 90 days by then are stale.

    Raises
    ------
    KeyError
        For a name that is no candidate's.
    ReportsError
        Where evidence is missing or damaged.
    """
    plan = with_prices(run.plan, prices)
    files = replace(gathered(run), plan=plan)
    return concluded(files, summary_at_prices(run.summary, plan), now)


def with_prices(plan: RunPlan, prices: Mapping[str, PriceFacts | None]) -> RunPlan:
    """The plan with other prices; KeyError for a name that is no candidate's."""
    for name in prices:
        plan.candidate(name)
    return plan.model_copy(
        update={
            "candidates": tuple(
                each.model_copy(update={"price": prices[each.name]})
                if each.name in prices
                else each
                for each in plan.candidates
            )
        }
    )


def summary_at_prices(summary: Summary, plan: RunPlan) -> Summary:
    """The summary with every cost at the plan's prices; what was spent stays what it was."""
    return summary.model_copy(
        update={
            "candidates": tuple(
                each.model_copy(
                    update={
                        "cells": tuple(
                            _cell(cell, plan.candidate(each.name)) for cell in each.cells
                        )
                    }
                )
                for each in summary.candidates
            )
        }
    )


def _cell(cell: CellSummary, facts: CandidateFacts) -> CellSummary:
    costs = [_costs(each, facts) for each in cell.replications]
    measures = {
        name: number for name, number in cell.measures.items() if not name.startswith(COSTS)
    }
    for name in costs[0] if costs else ():
        measures[name] = over_launches(
            [each[name] for each in costs],
            name=name,
            unit=unit_of(name, money_of(facts).currency),
            basis=cell.basis,
            requests=cell.requests["measured"],
            note=price_note(facts),
        )
    return cell.model_copy(
        update={
            "measures": measures,
            "replications": tuple(
                _replication(each, found)
                for each, found in zip(cell.replications, costs, strict=True)
            ),
        }
    )


def _costs(each: ReplicationSummary, facts: CandidateFacts) -> Mapping[str, float | None]:
    figures = each.figures
    return costs_of(
        facts, figures.get("output_tokens_per_s"), figures.get("compliant_tokens_per_s")
    )


def _replication(
    each: ReplicationSummary, costs: Mapping[str, float | None]
) -> ReplicationSummary:
    figures = {name: v for name, v in each.figures.items() if not name.startswith(COSTS)}
    figures |= {name: finite(value) for name, value in costs.items()}
    return each.model_copy(update={"figures": figures})
