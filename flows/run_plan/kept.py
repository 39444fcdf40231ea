"""Whether the contract that a run was planned with is the one that its campaign file states."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from catalog.load import load_file
from catalog.schema import Campaign
from flows.run_plan.contract import contract_facts, rule_facts
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.plan_file import ContractFacts, RunPlan

_LONG: Final = 1 << 30  # in place of lengths that lie in a file of their own: not in the run
_OF_LENGTHS: Final = ("mean_output_tokens", "longest_output_tokens")


def altered_clauses(folder: RunFolder, plan: RunPlan) -> tuple[str, ...]:
    """Each clause of the plan's contract that the run's campaign file states otherwise.

    With them what it states of how to decide: incumbent, least saving, commitments, and that
    it is exploratory.

    No kind of run changes a contract: that of a rehearsal and of imported results is the
    file's own. Lengths of a ``file:`` form are held against its name, as no run keeps the
    list itself.

    Raises
    ------
    CatalogError
        For a campaign file that cannot be read.
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


def _rules(plan: RunPlan) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(plan.model_dump_json())
    return found


def _plain(contract: ContractFacts) -> dict[str, Any]:
    found: Mapping[str, Any] = json.loads(contract.model_dump_json())
    return dict(found)


def _words(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, sort_keys=True)
