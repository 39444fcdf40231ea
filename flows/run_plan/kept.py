"""Whether what a run was planned with is what its campaign file states."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from catalog.load import load_file
from catalog.quantity import Quantity
from catalog.schema import Campaign
from flows.matrix.amounts import stated_matrix
from flows.rehearsing import shortened_matrix
from flows.run_plan.contract import contract_facts, rule_facts
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.plan_file import ContractFacts, MatrixFacts, PriceFacts, RunPlan
from reports.screen_file import read_screen

_LONG: Final = 1 << 30  # in place of lengths that lie in a file of their own: not in the run
_OF_LENGTHS: Final = ("mean_output_tokens", "longest_output_tokens")
_OF_IMPORTS: Final = ("load_points", "decision_point", "replications", "search_rates")


def altered_clauses(folder: RunFolder, plan: RunPlan) -> tuple[str, ...]:
    """Each clause of the plan's contract that the run's campaign file states otherwise.

    With them what it states of how to decide (incumbent, least saving, commitments, and that
    it is exploratory), of the load matrix, and of the candidates' prices.

    No kind of run changes a contract: that of a rehearsal and of imported results is the
    file's own. Lengths of a ``file:`` form are held against its name, as no run keeps the
    list itself. The loads of imported results are those of their files, a rehearsal's may be
    fewer by its own rule. A price that the file leaves to the catalog is held against the
    paper vote.

    Raises
    ------
    CatalogError
        For a campaign file that cannot be read.
    ReportsError
        For a paper vote that cannot be read.
    """
    campaign = load_file(
        folder.file(layout.CAMPAIGN), Campaign, {"read_lengths": lambda _: (_LONG,)}
    )
    stated, planned = _plain(contract_facts(campaign.contract)), _plain(plan.contract)
    if campaign.contract.output_tokens.kind == "empirical":
        stated |= {name: planned[name] for name in _OF_LENGTHS}
    return (
        *_differences("the contract's", planned, stated),
        *_differences("the plan's", _rules(plan), json.loads(json.dumps(rule_facts(campaign)))),
        *_matrix(campaign, plan),
        *_prices(campaign, plan, _paper_prices(folder)),
    )


def _differences(
    whose: str, planned: Mapping[str, Any], stated: Mapping[str, Any]
) -> Iterator[str]:
    for name in stated:
        if planned[name] != stated[name]:
            yield (
                f"{whose} {name} is {_words(planned[name])}; "
                f"{layout.CAMPAIGN} states {_words(stated[name])}"
            )


def _matrix(campaign: Campaign, plan: RunPlan) -> tuple[str, ...]:
    whole = stated_matrix(campaign)
    allowed = [whole, shortened_matrix(whole)] if plan.rehearsal else [whole]
    planned = _levels(plan.matrix)
    found = []
    for matrix in allowed:
        stated = _levels(matrix)
        if plan.imported is not None:
            stated = {name: each for name, each in stated.items() if name not in _OF_IMPORTS}
        found.append(tuple(_differences("the matrix's", planned, stated)))
    return min(found, key=len)


def _levels(matrix: MatrixFacts) -> dict[str, Any]:
    """The matrix in plain values; the order of its loads says nothing."""
    found = dict(json.loads(matrix.model_dump_json()))
    return found | {"load_points": sorted(found["load_points"], key=lambda each: each["name"])}


def _prices(
    campaign: Campaign, plan: RunPlan, paper: Mapping[str, Quantity | None]
) -> Iterator[str]:
    planned, stated = ([e.name for e in whole.candidates] for whole in (plan, campaign))
    if sorted(planned) != sorted(stated):
        yield (
            f"the plan's candidates are {', '.join(planned)}; "
            f"{layout.CAMPAIGN} states {', '.join(stated)}"
        )
        return
    for candidate in campaign.candidates:
        price = candidate.assumptions.price or candidate.price
        where = layout.CAMPAIGN if price is not None else layout.GATES
        expected = price or paper.get(candidate.name)
        found = plan.candidate(candidate.name).price
        is_kept = (found and (found.value, found.unit, found.stated)) == (
            expected and (expected.value, expected.unit, price is not None)
        )
        if not is_kept:
            yield (
                f"the price of {candidate.name} is {_money(found)}; "
                f"{where} states {_money(expected)}"
            )


def _money(price: Quantity | PriceFacts | None) -> str:
    return "nothing" if price is None else f"{price.value:g} {price.unit}"


def _paper_prices(folder: RunFolder) -> dict[str, Quantity | None]:
    screen = read_screen(folder.file(layout.GATES))
    return {} if screen is None else {each.name: each.price for each in screen.candidates}


def _rules(plan: RunPlan) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(plan.model_dump_json())
    return found


def _plain(contract: ContractFacts) -> dict[str, Any]:
    found: Mapping[str, Any] = json.loads(contract.model_dump_json())
    return dict(found)


def _words(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, sort_keys=True)
