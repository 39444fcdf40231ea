"""A signoff, or its refusal, as a person and as a program read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from reports.run.signoff_file import Signoff
from reports.signable import Refusal
from reports.signoff import Refused
from reports.tables import Cell, Column, Table


def refusal_table(reasons: Sequence[Refusal]) -> Table:
    """Each reason against a signoff, with what to do."""
    return Table(
        title="Not signed",
        columns=(Column(title="rule"), Column(title="seen"), Column(title="do")),
        rows=tuple(
            (Cell(text=each.rule, meaning="fail"), Cell(text=each.seen), Cell(text=each.do))
            for each in reasons
        ),
    )


def signed_lines(signoff: Signoff) -> Iterator[str]:
    """What was signed, by whom, until when, and what ends it earlier."""
    last = signoff.approvals[-1]
    how = ", with a detached signature" if last.signed else ", without a detached signature"
    yield f"Signed by {last.by} ({last.role}) at {last.at}{how}."
    yield f"Manifest {signoff.manifest_sha256}"
    yield signoff.sentence
    if len(signoff.approvals) > 1:
        yield f"Approvals of this manifest: {len(signoff.approvals)}."
    for waiver in last.waivers:
        yield f"Waived: {waiver.check}: {waiver.reason}"
    until = signoff.valid_until or "no date: no ranked price has one"
    yield f"Valid until {until}. Run it again when:"
    yield from (f"- {each}" for each in signoff.rerun_when)
    if not last.signed:
        yield "Without a detached signature the files show changes, not who made them: --key."


def to_json(found: Signoff | Refused) -> dict[str, Any]:
    """The signoff's file, or ``{"refused": [...]}``."""
    if isinstance(found, Refused):
        return {"refused": [asdict(each) for each in found.reasons]}
    return found.model_dump(mode="json")
