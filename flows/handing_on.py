"""A run handed on to others: its winner's launch, its cells for other tools."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from deploy_templates.deployments import deployed
from deploy_templates.deployments.deployment import Deployment
from deploy_templates.plan import read_plan
from flows.errors import EvidenceError, UsageError
from flows.run_directory import refuse_unfinished
from flows.signing import read_signoff
from reports.errors import ReportsError
from reports.interop import writer
from reports.interop.foreign import OwnCell
from reports.manifest import manifest_sha256, verify
from reports.records import read_records
from reports.run.plan_file import CandidateFacts
from reports.run.read import Measured, Run

_WITHOUT: Final = (
    "Nothing was written; leave --launch out, and the rest, such as --bundle alone, is"
)


def launch_files(run: Run, way: str, target: Path, candidate: str | None) -> dict[Path, str]:
    """The launch of the winner, or of another candidate, as ``way`` keeps it running.

    New files below ``target`` with their texts; nothing is written.

    Raises
    ------
    EvidenceError
        Where nobody is chosen and no candidate is named, a simulation was launched, or the
        run is not what its manifest says.
    UsageError
        For a candidate without a launch, or a file that exists.
    """
    facts = _candidate(run, candidate)
    if facts.launch is None:
        raise UsageError(
            facts.name, "it was measured as an endpoint: there is nothing to launch", _WITHOUT
        )
    plan = read_plan(json.dumps(facts.launch), f"the plan of {facts.name}")
    if plan.simulation:
        raise EvidenceError(facts.name, "it was a simulated engine that was launched", _WITHOUT)
    refuse_changed(run)
    documents = list(_launch_documents(run, facts.name))
    made = deployed(
        way,
        Deployment(
            plan=plan,
            evidence=_evidence(run),
            devices=facts.device_count,
            image_digest=_image_digest(documents),
            cpus=_server_cpus(run, facts.name),
        ),
    )
    found = {target / name: text for name, text in made.items()}
    for path in found:
        if path.exists():
            raise UsageError(str(path), "this file exists", "Choose another folder with --out")
    return found


def refuse_changed(run: Run) -> None:
    """Raise EvidenceError for a run that is not what its manifest says."""
    found = verify(run.folder)
    if found:
        refuse_unfinished(run.folder)
        raise EvidenceError(
            str(run.folder.path / found[0].path),
            f"it is {found[0].kind}: {found[0].seen}",
            "What is handed on names the manifest, so it must fit: see runoff check",
        )


def _candidate(run: Run, named: str | None) -> CandidateFacts:
    name = named or run.decision.winner  # of a tie it is whom the rule names
    if name is None:
        raise EvidenceError(
            str(run.folder.path),
            f"no candidate is chosen ({run.decision.outcome})",
            f"Name one with --candidate. {_WITHOUT}",
        )
    try:
        return run.plan.candidate(name)
    except KeyError:
        known = ", ".join(each.name for each in run.plan.candidates)
        raise UsageError(
            "--candidate", f"there is no candidate {name!r}", f"There are {known}"
        ) from None


def _evidence(run: Run) -> str:
    manifest = manifest_sha256(run.folder)
    signoff = read_signoff(run.folder)
    is_signed = signoff is not None and signoff.approves(run.decision, manifest)
    signed = "signed" if is_signed else f"{run.decision.stamp}, not signed"
    return f"run {run.plan.campaign}/{run.plan.run} ({signed}), manifest {manifest}"


def _launch_documents(run: Run, candidate: str) -> Iterator[dict[str, Any]]:
    for path in sorted((run.folder.path / "launch" / candidate).glob("*/**/launch.json")):
        document = json.loads(path.read_bytes())
        if isinstance(document, dict):
            yield document


def _image_digest(documents: list[dict[str, Any]]) -> str | None:
    """The digest of the image that ran; None where it is not known or not always the same."""
    found = {
        str(digest).rpartition("@")[2]
        for document in documents
        for digest in document.get("image_digests") or ()
    }
    return found.pop() if len(found) == 1 else None


def _server_cpus(run: Run, candidate: str) -> tuple[int, ...]:
    """The processors that the server was held to, where all its launches agree."""
    found = {
        measured.file.server_cpus
        for measured in run.cells
        if measured.name.candidate == candidate
    }
    return found.pop() if len(found) == 1 else ()


def foreign_text(run: Run, tool: str, candidate: str | None) -> str:
    """Every measured cell in another tool's format, one object a line.

    Raises
    ------
    UsageError
        Where no cell of that candidate is there.
    """
    if candidate is not None:
        _candidate(run, candidate)
    write = writer(tool)
    lines = [
        json.dumps(write(_own_cell(run, measured)), allow_nan=False)
        for measured in run.cells
        if candidate in (None, measured.name.candidate)
    ]
    if not lines:
        raise UsageError(
            str(run.folder.path), "no cell of it was measured", "Choose another run"
        )
    return "\n".join(lines) + "\n"


def _own_cell(run: Run, measured: Measured) -> OwnCell:
    columns = read_records(measured.records).columns
    asked = measured.file.asked
    kept = columns.where(columns.phase == "measured")
    if not len(kept):
        raise ReportsError(
            str(measured.records), "no request of it was measured", "Export another run"
        )
    return OwnCell(
        candidate=measured.name.candidate,
        model=run.plan.contract.model,
        started_at=_date(measured.file.started_at),
        process=asked.arrival,
        rate_per_s=None if asked.arrival == "closed" else asked.offered_rate,
        burstiness=asked.burstiness,
        max_in_flight=asked.concurrency,
        columns=kept,
    )


def _date(text: str) -> str:
    """The time as result files have it; as it is where it is no time."""
    try:
        return dt.datetime.fromisoformat(text).strftime("%Y%m%d-%H%M%S")
    except ValueError:
        return text
