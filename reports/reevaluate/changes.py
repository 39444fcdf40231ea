"""What differs between a baseline and the run held against it, whether it matters or not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reports.run.baseline_file import Baseline, PinnedCandidate
from reports.run.plan_file import CandidateFacts, ContractFacts, PriceFacts, RunPlan
from reports.run.reevaluation_file import Change

Marks = Mapping[str, Mapping[str, str]]
_MACHINE: Final = ("driver", "kernel", "processor", "accelerator")
_LAUNCH: Final = "launch fingerprint"


def changes_since(baseline: Baseline, plan: RunPlan, marks: Marks) -> tuple[Change, ...]:
    """Every difference in contract, candidates, prices, releases and machines, in that order.

    ``marks`` are this run's, by candidate: of those that are measured.
    """
    return (
        *contract_changes(baseline.contract, plan.contract),
        *_candidates(baseline, plan),
        *price_changes(baseline, plan),
        *_versions(baseline, plan, marks),
        *_machines(baseline, marks),
    )


def contract_changes(before: ContractFacts, now: ContractFacts) -> Iterator[Change]:
    """Each clause that was another one."""
    old, new = before.model_dump(mode="json"), now.model_dump(mode="json")
    for name in old:
        if old[name] != new[name]:
            yield Change(
                kind="contract",
                candidate=None,
                what=name.replace("_", " "),
                before=_plain(old[name]),
                now=_plain(new[name]),
            )


def price_changes(baseline: Baseline, plan: RunPlan) -> Iterator[Change]:
    """Each price that is another one, or has come or gone."""
    for facts, pinned in _pairs(baseline, plan):
        before, now = price_words(pinned.price), price_words(facts.price)
        if before != now:
            yield Change(
                kind="price", candidate=facts.name, what="price", before=before, now=now
            )


def counterpart(baseline: Baseline, name: str) -> PinnedCandidate | None:
    """The baseline's candidate that one of this run is held against."""
    return baseline.candidate(baseline.winner if name in baseline.family else name)


def inexact(changes: Iterable[Change], control: str) -> Change | None:
    """In what the control is not the baseline's configuration; None where it is, or may be.

    What is not known of one side shows nothing: a control that never came up has no launch.
    """
    found = (e for e in changes if e.candidate == control and e.kind == "version")
    return next((e for e in found if e.before is not None and e.now is not None), None)


def price_words(price: PriceFacts | None) -> str | None:
    """A price in words; the day on which it was read is no part of it."""
    if price is None:
        return None
    return f"{price.value:g} {price.unit}{f', {price.commitment}' if price.commitment else ''}"


def release_words(runtime: str | None, version: str | None) -> str | None:
    """A runtime's release in words; None for a service of others."""
    return " ".join(part for part in (runtime, version) if part) or None


def _pairs(
    baseline: Baseline, plan: RunPlan
) -> Iterator[tuple[CandidateFacts, PinnedCandidate]]:
    for facts in plan.candidates:
        pinned = counterpart(baseline, facts.name)
        if pinned is not None:
            yield facts, pinned


def _candidates(baseline: Baseline, plan: RunPlan) -> Iterator[Change]:
    there = {each.name for each in plan.candidates} | baseline.family
    for facts in plan.candidates:
        if counterpart(baseline, facts.name) is None:
            yield _candidate(
                facts.name, None, "a candidate" if facts.measured else facts.skipped
            )
    for each in baseline.candidates:
        if each.name not in there and each.name != baseline.winner:
            yield _candidate(each.name, each.standing, None)


def _candidate(name: str, before: str | None, now: str | None) -> Change:
    return Change(kind="candidate", candidate=name, what="candidate", before=before, now=now)


def _versions(baseline: Baseline, plan: RunPlan, marks: Marks) -> Iterator[Change]:
    for facts, pinned in _pairs(baseline, plan):
        if facts.name not in marks:
            continue
        before = release_words(pinned.runtime, pinned.version)
        now = release_words(facts.runtime, facts.version)
        what = "release"
        if before == now:
            what, before = _LAUNCH, pinned.marks.get(_LAUNCH)
            now = marks[facts.name].get(_LAUNCH)
        if before != now:
            yield Change(
                kind="version", candidate=facts.name, what=what, before=before, now=now
            )


def _machines(baseline: Baseline, marks: Marks) -> Iterator[Change]:
    for name, found in marks.items():
        pinned = counterpart(baseline, name)
        if pinned is None:
            continue
        for what in _MACHINE:
            before, now = pinned.marks.get(what), found.get(what)
            if before != now:
                yield Change(
                    kind="measurement", candidate=name, what=what, before=before, now=now
                )


def _plain(value: object) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True)
