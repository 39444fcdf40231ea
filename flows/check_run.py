"""``runoff check``: whether a run directory is what it says, each question as one row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from catalog.errors import CatalogError
from flows.run_files import Trouble, broken_cells, unreadable
from flows.run_plan.kept import altered_clauses
from flows.signers import shown, tied
from flows.signing import read_signoff, verified
from flows.ssh_signature import Verified
from reports.again import Difference, concluded_again, rendered_again
from reports.errors import ReportsError
from reports.manifest import manifest_sha256, verify
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import Run, read_run
from reports.run.signoff_file import Approval, Signoff, Waiver
from reports.signable import covers, evidence_of
from reports.signoff import is_as_written, objections
from reports.validity import expiry_words, is_expired, valid_until

Verdict = Literal["pass", "fail", "waived", "unknown", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question to a run directory; ``of`` is the file, check or person that it is about."""

    id: str
    of: str
    verdict: Verdict
    seen: str


def check_run(
    folder: RunFolder, *, version: str, today: dt.date, allowed: Path | None = None
) -> tuple[Row, ...]:
    """Every row, in order; nothing is written. Later ones need the earlier ones to pass.

    ``version`` is this runoff's, ``today`` the day on which it is asked whether a signoff can
    be relied on, ``allowed`` a file of the SSH keys that may sign.
    """
    rows = [*_manifest(folder), *_files(folder), *_unreadable_signoff(folder)]
    if any(row.verdict == "fail" for row in rows):
        return (*rows, *_signoff(folder, allowed, readable=False))
    run = read_run(folder.path)
    rows += _contract(run, folder)
    rows += _compared("conclusion", concluded_again(run), "the evidence gives it again")
    pages = rendered_again(run, version=version)
    rows += _compared("pages", pages, "the evidence gives them again")
    rows += _evidence_checks(run, folder)
    rows += _signoff(folder, allowed, readable=True)
    rows += _validity(run, today)
    return tuple(rows)


def _manifest(folder: RunFolder) -> Iterator[Row]:
    found = verify(folder)
    for each in found:
        seen = f"{each.kind}: {each.seen}"
        yield Row(id="manifest", of=each.path, verdict="fail", seen=seen)
    if not found:
        seen = f"every file is as it was written; manifest {manifest_sha256(folder)}"
        yield Row(id="manifest", of="", verdict="pass", seen=seen)


def _files(folder: RunFolder) -> Iterator[Row]:
    yield from _troubled("files", unreadable(folder), "every file is what its name says")
    yield from _troubled(
        "cells", broken_cells(folder), "every replication has the files that it was written for"
    )


def _troubled(name: str, troubles: Iterator[Trouble], passed: str) -> Iterator[Row]:
    found = tuple(troubles)
    for of, seen in found:
        yield Row(id=name, of=of, verdict="fail", seen=seen)
    if not found:
        yield Row(id=name, of="", verdict="pass", seen=passed)


def _contract(run: Run, folder: RunFolder) -> Iterator[Row]:
    """Whether what was judged is what the campaign file states."""
    try:
        found = altered_clauses(folder, run.plan)
    except CatalogError as error:
        seen = f"its contract cannot be read: {error.seen}"
        yield Row(id="contract", of=layout.CAMPAIGN, verdict="fail", seen=seen)
        return
    for seen in found:
        yield Row(id="contract", of=layout.PLAN, verdict="fail", seen=seen)
    if not found:
        seen = "the plan holds the contract that the campaign file states"
        yield Row(id="contract", of="", verdict="pass", seen=seen)


def _compared(name: str, found: Sequence[Difference] | str, passed: str) -> Iterator[Row]:
    """Rows of what differs when it is made again; a text says why it cannot be made again."""
    if isinstance(found, str):
        yield Row(id=name, of="", verdict="unknown", seen=found)
        return
    for each in found:
        yield Row(id=name, of=each.of, verdict="fail", seen=each.seen)
    if not found:
        yield Row(id=name, of="", verdict="pass", seen=passed)


def _evidence_checks(run: Run, folder: RunFolder) -> Iterator[Row]:
    """The run's own checks that do not pass: those that decide fail here as well."""
    signoff = read_signoff(folder)
    waivers: tuple[Waiver, ...] = () if signoff is None else signoff.waivers
    for check in run.checks.checks:
        if check.verdict not in ("fail", "unknown"):
            continue
        verdict: Verdict = "unknown" if check.verdict == "unknown" else "note"
        fails = check.verdict == "fail" and check.decisive
        if fails and check.stands_against(run.decision.winner):
            verdict = "fail"
        if check.waivable and any(covers(waiver.check, check.name) for waiver in waivers):
            verdict = "waived"
        seen = f"{check.requirement}: {check.observed}, needed {check.needed}"
        yield Row(id="evidence", of=check.name, verdict=verdict, seen=seen)


def _unreadable_signoff(folder: RunFolder) -> Iterator[Row]:
    try:
        read_signoff(folder)
    except ReportsError as error:
        yield Row(id="signoff", of=layout.SIGNOFF, verdict="fail", seen=error.seen)


def _signoff(folder: RunFolder, allowed: Path | None, *, readable: bool) -> Iterator[Row]:
    try:
        signoff = read_signoff(folder)
    except ReportsError:
        return  # told before
    if signoff is None:
        yield Row(id="signoff", of="", verdict="note", seen="nobody has signed this run")
        return
    if not readable:
        who = ", ".join(each.by for each in signoff.approvals)
        seen = f"what was approved by {who or 'nobody'} cannot be trusted any longer"
        yield Row(id="signoff", of=layout.SIGNOFF, verdict="fail", seen=seen)
        return
    yield from _approved(folder, signoff)
    signed = verified(folder, signoff, allowed)
    for index, (approval, signature) in enumerate(signed):
        yield _signature(approval, signature, allowed, tied(index, signed))


def _validity(run: Run, today: dt.date) -> Iterator[Row]:
    """Whether what was signed can be relied on today; of what nobody signed it is a note."""
    signoff = read_signoff(run.folder)
    if signoff is not None:
        verdict: Verdict = "fail" if is_expired(signoff.valid_until, today) else "pass"
        seen = expiry_words(signoff.valid_until, today)
        yield Row(id="validity", of=layout.SIGNOFF, verdict=verdict, seen=seen)
        return
    until = valid_until(run.plan, run.decision)
    if is_expired(until, today):
        seen = expiry_words(until, today)
        yield Row(id="validity", of=layout.DECISION, verdict="note", seen=seen)


def _approved(folder: RunFolder, signoff: Signoff) -> Iterator[Row]:
    content = folder.file(layout.SIGNOFF).read_bytes()
    if not is_as_written(signoff, content):
        seen = "it is not as runoff writes it"
        yield Row(id="signoff", of=layout.SIGNOFF, verdict="fail", seen=seen)
    found = objections(signoff, evidence_of(read_run(folder.path)), manifest_sha256(folder))
    for each in found:
        seen = f"{each.rule}: {each.seen}"
        yield Row(id="signoff", of=layout.SIGNOFF, verdict="fail", seen=seen)
    if not found:
        for one in signoff.approvals:
            seen = f"approved as {one.role} at {one.at}, scope {signoff.scope}: {one.statement}"
            yield Row(id="signoff", of=one.by, verdict="pass", seen=seen)


def _signature(
    approval: Approval, found: Verified | None, allowed: Path | None, untied: str | None
) -> Row:
    if found is None:
        seen = "no detached signature: the files show changes, not who made them"
        verdict: Verdict = "note" if allowed is None else "fail"
        return Row(id="signature", of=approval.by, verdict=verdict, seen=seen)
    if untied is not None:
        return Row(id="signature", of=approval.by, verdict="fail", seen=untied)
    is_good = found.key is not None and (allowed is None or found.who is not None)
    return Row(
        id="signature",
        of=approval.by,
        verdict=("unknown" if allowed is None else "pass") if is_good else "fail",
        seen=shown(approval, found),
    )
