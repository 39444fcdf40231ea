"""The facts of two runs that differ, as text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from reports.run.decision_file import Decision
from reports.run.read import Run
from reports.run.summary_file import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact that is not the same in both; None is absent."""

    part: str
    what: str
    a: str | None
    b: str | None


_OF_THE_RUN: Final = (
    "campaign", "question", "runoff_version", "method_version", "campaign_sha256",
    "catalog_digest", "user_entries", "exploratory", "rehearsal", "imported", "incumbent",
    "switch_if_saves", "commitments", "load_from", "budget_usd", "budget_hours",
)  # fmt: skip
_OF_A_LAUNCH: Final = (
    "mode", "form", "argv", "env", "secret_env", "served_model", "port", "unmanaged",
)  # fmt: skip
_OF_THE_MOMENT: Final = ("captured_at", "available_bytes")
_SCRIPT: Final = "serve.sh"
_OF_NO_CANDIDATE: Final = ("name", "launch", "price", "threats")


def differences(a: Run, b: Run) -> Iterator[Difference]:
    """Every fact that differs: run, contract, matrix, candidates, hosts, launches, decision."""
    yield from _facts("run", *(_plain(x.plan, only=_OF_THE_RUN) for x in (a, b)))
    yield from _facts("contract", *(_plain(x.plan.contract) for x in (a, b)))
    yield from _facts("matrix", *(_plain(x.plan.matrix) for x in (a, b)))
    yield from _candidates(a, b)
    yield from _facts("host", *(_hosts(x) for x in (a, b)))
    yield from _facts("launch", *(_launches(x.summary) for x in (a, b)))
    yield from _facts("decision", *(verdict_of(x.decision) for x in (a, b)))


def _candidates(a: Run, b: Run) -> Iterator[Difference]:
    in_a, in_b = ({each.name: each for each in x.plan.candidates} for x in (a, b))
    for name in dict.fromkeys((*in_a, *in_b)):
        if name not in in_a or name not in in_b:
            there = ("in it", None) if name in in_a else (None, "in it")
            yield Difference(part="candidate", what=name, a=there[0], b=there[1])
            continue
        ours, theirs = in_a[name], in_b[name]
        facts = (_plain(each, without=_OF_NO_CANDIDATE) for each in (ours, theirs))
        yield from _facts(f"candidate {name}", *facts)
        prices = (_plain(each.price) if each.price else {} for each in (ours, theirs))
        yield from _facts(f"price of {name}", *prices)
        launches = (_launch(each.launch or {}) for each in (ours, theirs))
        yield from _facts(f"launch of {name}", *launches)


def _launch(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What a launch plan makes the server do; how it is watched is left out."""
    found = _flat({name: plan.get(name) for name in _OF_A_LAUNCH})
    for name, asked in plan.get("controlled", {}).items():
        found[f"{name} asked"] = asked.get("asked")
    for name, text in plan.get("files", {}).items():
        if name != _SCRIPT:  # it says what argv says
            found[f"file {name}"] = f"SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:12]}…"
    return found


def _hosts(run: Run) -> dict[str, Any]:
    return {
        f"{host.host}: {name}": value
        for host in run.hosts
        for name, value in host.facts.items()
        if not name.endswith(_OF_THE_MOMENT)
    }


def _launches(summary: Summary) -> dict[str, Any]:
    """The fingerprints that launches were seen with, each once by candidate."""
    found: dict[str, Any] = {}
    for candidate in summary.candidates:
        seen = {launch.fingerprint for launch in candidate.launches if launch.fingerprint}
        found[f"fingerprint of {candidate.name}"] = ", ".join(sorted(seen)) or None
    return found


def verdict_of(decision: Decision) -> dict[str, Any]:
    """What makes a decision the same as another."""
    return {"outcome": decision.outcome, "chosen": decision.chosen}


def _facts(part: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys((*a, *b)):
        ours, theirs = a.get(name), b.get(name)
        if ours == theirs:
            continue
        if isinstance(ours, list) and isinstance(theirs, list):
            ours, theirs = _without_common(ours, theirs)
        yield Difference(part=part, what=name, a=_text(ours), b=_text(theirs))


def _without_common(a: list[Any], b: list[Any]) -> tuple[Any, Any]:
    """What is in one list and not in the other; both whole where only the order differs."""
    ours, theirs = [each for each in a if each not in b], [each for each in b if each not in a]
    return (a, b) if not ours and not theirs else (ours or None, theirs or None)


def _plain(
    model: BaseModel, *, only: Sequence[str] = (), without: Sequence[str] = ()
) -> dict[str, Any]:
    return _flat(model.model_dump(mode="json", include=set(only) or None, exclude=set(without)))


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(_text(each) or "null" for each in value)
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_text(each)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
