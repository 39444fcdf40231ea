"""A signoff, or its refusal, as a person and as a program read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from flows.console import Console
from reports.run.signoff_file import Signoff
from reports.signable import Refusal
from reports.signoff import Refused
from reports.tables import Cell, Column, Table

_BELOW: Final = "Measure again, or accept it with its line below"
_OF_THE_APPROVAL: Final = ("by", "role", "statement", "waiver", "signed before", "key")


def show_refused(console: Console, reasons: Sequence[Refusal]) -> None:
    """Why nothing was signed, with what to do.

    Where the run itself refuses, checks that could be waived are a count: waiving helps not.
    """
    waivable = [each for each in reasons if _is_waivable(each)]
    others = [each for each in reasons if not _is_waivable(each)]
    if all(each.rule in _OF_THE_APPROVAL for each in others):
        console.table(_table(reasons))
        for check in dict.fromkeys(each.check for each in waivable):
            console.whole(f"--waive '{check}:REASON'")
        return
    console.paragraphs(["This run cannot be signed as it is, whatever is waived:"], indent="")
    console.table(_table(others))
    if waivable:
        count = len(waivable)
        checks = "1 check" if count == 1 else f"{count} checks"
        console.paragraphs([f"And {checks} would need a waiver: --json has them."], indent="")


def _table(reasons: Sequence[Refusal]) -> Table:
    return Table(
        title="Not signed",
        columns=tuple(Column(title=title) for title in ("rule", "seen", "do")),
        rows=tuple(
            (
                Cell(text=each.rule, meaning="fail"),
                Cell(text=_seen(each)),
                Cell(text=_BELOW if _is_waivable(each) else each.do),
            )
            for each in reasons
        ),
    )


def _seen(reason: Refusal) -> str:
    """What was seen; of a check its name and the first thing that it saw."""
    if reason.observed is None:
        return reason.seen
    first, *more = reason.observed.split("; ")
    return f"{reason.check}: {first}{f' (and {len(more)} more)' if more else ''}"


def _is_waivable(reason: Refusal) -> bool:
    return reason.check is not None and "--waive" in reason.do


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
