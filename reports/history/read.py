"""One run directory as the facts of the history, whatever state it is in.

Read are plan, summary, decision, manifest, signoff and the hosts' facts; each is held against
the manifest. That all other files fit it is the question of ``runoff check``.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from reports.errors import ReportsError
from reports.history.facts import CandidateFacts, Point, RunFacts, State
from reports.run import layout, plan_file
from reports.run.decision_file import Decision
from reports.run.host_file import HostFile
from reports.run.manifest_file import Manifest
from reports.run.number import Number
from reports.run.plan_file import RunPlan
from reports.run.read import read_file
from reports.run.reevaluation_file import Reevaluation
from reports.run.signoff_file import Signoff
from reports.run.summary_file import CellSummary, Summary

METRICS: Final = (
    "ttft_p50_ms",
    "ttft_p95_ms",
    "ttft_p99_ms",
    "tpot_p95_ms",
    "itl_p95_ms",
    "e2e_p95_ms",
    "output_tokens_per_s",
    "requests_per_s",
    "compliant_tok_per_machine_hour",
    "usd_per_1m_compliant",
    "usd_per_1m_output",
)
GOODPUT: Final = "goodput"
_KIND: Final = (
    "kind",
    "offer",
    "device",
    "device_count",
    "tensor_parallel",
    "replicas_per_host",
    "replicas",
    "runtime",
    "precision",
    "kv_precision",
    "checkpoint",
    "is_dummy",
    "endpoints",
)
_MACHINE: Final = {
    "driver": ("driver", "gpu_driver"),
    "kernel": ("kernel",),
    "processor": ("cpu.model", "cpu"),
    "accelerator": ("accelerator_model_name", "gpu"),
}
_INFINITE: Final = ("infinite", "in the median launch it lies among the failures")

Model = TypeVar("Model", bound=BaseModel)


def facts_of(folder: Path, path: str) -> RunFacts:
    """The facts of a run directory; one that cannot be read says why in its ``state``."""
    known = RunFacts(path=path, state="half")
    try:
        manifest = _manifest(folder)
        plan = _read(folder, layout.PLAN, RunPlan, manifest)
        known = _planned(known, plan)
        summary = _read(folder, layout.SUMMARY, Summary, manifest)
        decision = _read(folder, layout.DECISION, Decision, manifest)
        return _approved(known, folder, plan, summary, decision)
    except _UnreadableError as found:
        return known.model_copy(update={"state": found.state, "why": found.why})


class _UnreadableError(Exception):
    def __init__(self, state: State, why: str) -> None:
        super().__init__(why)
        self.state: State = state
        self.why = why


def _manifest(folder: Path) -> Manifest | None:
    path = folder / layout.MANIFEST
    return _read(folder, layout.MANIFEST, Manifest, None) if path.is_file() else None


def _read(folder: Path, name: str, model: type[Model], manifest: Manifest | None) -> Model:
    """A file as its model, held against the manifest where there is one."""
    path = folder / name
    if not path.is_file():
        is_begun = manifest is None and (folder / layout.PLAN).is_file()
        raise _UnreadableError("half" if is_begun else "broken", f"it holds no {name}")
    try:
        found = read_file(path, model)
    except ReportsError as error:
        raise _UnreadableError(_why_not(path), f"{name}: {error.seen}") from None
    if manifest is not None:
        entry = manifest.files.get(name)
        if entry is None or entry.sha256 != hashlib.sha256(path.read_bytes()).hexdigest():
            raise _UnreadableError("broken", f"{name} is not what the manifest says")
    return found


def _why_not(path: Path) -> State:
    """Newer where the file says so, foreign where a plan has nothing of ours."""
    try:
        plain = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return "broken"
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    if isinstance(version, int) and version > plan_file.FORMAT:
        return "newer"
    is_plan = path.name == layout.PLAN
    ours = isinstance(plain, dict) and {"schema_version", "campaign"} <= plain.keys()
    return "foreign" if is_plan and not ours else "broken"


def _planned(known: RunFacts, plan: RunPlan) -> RunFacts:
    try:
        at = dt.datetime.fromisoformat(plan.created_at)
    except ValueError:
        raise _UnreadableError("broken", "plan.json: created_at is no time") from None
    evidence = "simulated" if plan.rehearsal else "measured"
    return known.model_copy(
        update={
            "why": "it is not concluded",
            "campaign": plan.campaign,
            "run": plan.run,
            "at": at.astimezone(dt.UTC) if at.tzinfo else at.replace(tzinfo=dt.UTC),
            "contract": _digest(plan.contract.model_dump(mode="json", exclude_defaults=True)),
            "method_version": plan.method_version,
            "evidence": "imported" if plan.imported else evidence,
            "is_exploratory": plan.exploratory,
        }
    )


def concluded_facts(
    folder: Path, path: str, plan: RunPlan, summary: Summary, decision: Decision
) -> RunFacts:
    """The facts of a run that is being concluded: it has no manifest and no pages yet.

    Raises
    ------
    ReportsError
        For a plan without a time.
    """
    known = planned_facts(plan).model_copy(update={"path": path})
    return _decided(known, folder, plan, summary, decision)


def planned_facts(plan: RunPlan) -> RunFacts:
    """What a plan alone says; its path is the run's name. ReportsError without a time."""
    try:
        return _planned(RunFacts(path=plan.run, state="half"), plan)
    except _UnreadableError as found:
        raise ReportsError(layout.PLAN, found.why, "Restore the file") from None


def _decided(
    known: RunFacts, folder: Path, plan: RunPlan, summary: Summary, decision: Decision
) -> RunFacts:
    return known.model_copy(
        update={
            "state": "concluded",
            "why": "",
            "method_version": summary.method_version,
            "stamp": decision.stamp,
            "outcome": decision.outcome,
            "chosen": decision.winner,
            "sentence": decision.sentence,
            "exit_code": decision.exit_code,
            "candidates": tuple(_candidates(folder, plan, summary, decision)),
        }
    )


def _approved(
    known: RunFacts, folder: Path, plan: RunPlan, summary: Summary, decision: Decision
) -> RunFacts:
    """With what stands beside the conclusion: manifest, signoff, pages."""
    manifest = folder / layout.MANIFEST
    sha256 = hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.is_file() else None
    signoff = _signoff(folder, decision, sha256)
    answer = _answer(folder)
    signed = (
        ()
        if signoff is None
        else tuple(f"{each.by} ({each.role})" for each in signoff.approvals)
    )
    return _decided(known, folder, plan, summary, decision).model_copy(
        update={
            "why": "" if sha256 else f"it holds no {layout.MANIFEST}",
            "stamp": "SIGNED" if signed else decision.stamp,
            "manifest_sha256": sha256,
            "signed_by": signed,
            "valid_until": None if signoff is None else signoff.valid_until,
            "baseline": None if answer is None else answer.baseline,
            "answer": None if answer is None else answer.answer,
            "has_report": (folder / layout.REPORT_HTML).is_file(),
        }
    )


def _signoff(folder: Path, decision: Decision, manifest: str | None) -> Signoff | None:
    """The signoff of exactly this manifest and what it decides, as the pages have it."""
    if manifest is None or not (folder / layout.SIGNOFF).is_file():
        return None
    signoff = _read(folder, layout.SIGNOFF, Signoff, None)
    return signoff if signoff.approves(decision, manifest) else None


def _answer(folder: Path) -> Reevaluation | None:
    if not (folder / layout.REEVALUATION).is_file():
        return None
    return _read(folder, layout.REEVALUATION, Reevaluation, _manifest(folder))


def _candidates(
    folder: Path, plan: RunPlan, summary: Summary, decision: Decision
) -> Iterator[CandidateFacts]:
    places = {each.name: each for each in decision.ranking}
    for facts in plan.candidates:
        place, measured = places.get(facts.name), summary.candidate(facts.name)
        judged = place.decision_point if place is not None else None
        kind = {name: getattr(facts, name) for name in _KIND}
        yield CandidateFacts(
            name=facts.name,
            kind=_digest({name: value for name, value in kind.items() if value is not None}),
            decision_point=judged or plan.matrix.decision_point,
            standing=place.standing if place is not None else "",
            marks=marks_of(folder, plan, summary, facts.name),
            points=tuple(
                found
                for cell in (measured.cells if measured else ())
                for found in _points(cell)
            ),
        )


def _points(cell: CellSummary) -> Iterator[Point]:
    numbers: dict[str, Number] = {
        name: cell.measures[name] for name in METRICS if name in cell.measures
    }
    if GOODPUT in cell.clauses:
        numbers[GOODPUT] = cell.clauses[GOODPUT].number
    for metric, number in numbers.items():
        yield Point(
            load_point=cell.load_point,
            metric=metric,
            unit=number.unit,
            basis=number.basis,
            value=number.value,
            low=number.low,
            high=number.high,
            level=number.level,
            requests=number.n,
            launches=number.runs,
            is_infinite=_is_infinite(number),
            verdict=cell.verdict,
        )


def _is_infinite(number: Number) -> bool:
    return number.value is None and (number.note or "").startswith(_INFINITE)


def marks_of(folder: Path, plan: RunPlan, summary: Summary, name: str) -> dict[str, str]:
    """What a reader of a candidate's series must know when it changes, by what it is."""
    facts, measured = plan.candidate(name), summary.candidate(name)
    launches = {each.fingerprint for each in measured.launches} if measured else set()
    prints = sorted(each for each in launches if each) or [facts.fingerprint or ""]
    price = facts.price
    found = {
        "launch fingerprint": "+".join(each[:8] for each in prints if each),
        "release": " ".join(part for part in (facts.runtime, facts.version) if part),
        "price": f"{price.value:g} {price.unit}" if price is not None else "",
        **_machine(folder, facts.host),
    }
    return {what: text for what, text in found.items() if text}


def _machine(folder: Path, host: str) -> dict[str, str]:
    path = folder / "hosts" / host / "system.json"
    if not path.is_file():
        return {}
    try:
        facts = read_file(path, HostFile).facts
    except ReportsError:
        return {}
    return {
        what: str(facts[key])
        for what, names in _MACHINE.items()
        for key in sorted(facts, reverse=True)
        if facts[key] and any(f".{key}".endswith(f".{name}") for name in names)
    }


def _digest(plain: Any) -> str:
    text = json.dumps(plain, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
