"""A run's signoff on the disk: read, approved, signed with a key, verified."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from catalog.errors import CatalogError
from flows.errors import EvidenceError, UsageError
from flows.home import state_folder
from flows.run_directory import only_writer, refuse_unfinished, run_at
from flows.run_plan.kept import altered_clauses
from flows.signers import tied
from flows.ssh_signature import Verified, blocks, sign, verify
from flows.store.places import copy_again, fetch_again
from reports.again import concluded_again, rendered_again
from reports.manifest import manifest_sha256
from reports.manifest import verify as differences
from reports.render import render_pages
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import Run, file_text, read_file, read_run
from reports.run.signoff_file import Approval, Signoff, Waiver
from reports.run.write import write_whole
from reports.signable import Refusal, evidence_of, unfounded, unmanifested
from reports.signoff import Refused, approve, parse_waiver, signed_bytes

SIGNATURES = f"{layout.SIGNOFF}.sig"


def read_signoff(folder: RunFolder) -> Signoff | None:
    """The run's signoff; None where nobody has signed. ReportsError where it is unreadable."""
    path = folder.file(layout.SIGNOFF)
    return read_file(path, Signoff) if path.exists() or path.is_symlink() else None


def sign_off_run(
    run: Path,
    *,
    by: str,
    role: str,
    statement: str,
    waive: Sequence[str] = (),
    key: Path | None = None,
    now: dt.datetime,
    environment: Mapping[str, str],
) -> tuple[Signoff | Refused, str | None]:
    """Approve the run in a directory; what came of it, and where a copy of the run is renewed.

    ``waive`` are failed checks that are accepted, as ``CHECK:REASON``.
    """
    folder = run_at(run).folder
    refuse_unfinished(folder)
    approval = Approval(
        by=by.strip(),
        role=role.strip(),
        statement=statement.strip(),
        at=now.isoformat(timespec="seconds"),
        waivers=tuple(map(_waiver, waive)),
    )
    if fetch_again(folder, state_folder(environment), environment):
        raise EvidenceError(
            str(folder.path),
            "it went on elsewhere, and was brought here just now",
            "Read its report, then sign what it says",
        )
    found = sign_off(folder, approval, now=now, key=key)
    if isinstance(found, Refused):
        return found, None
    return found, copy_again(folder, state_folder(environment), environment)


def _waiver(text: str) -> Waiver:
    waiver = parse_waiver(text)
    if not waiver.check or not waiver.reason:
        raise UsageError(
            f"--waive {text!r}", "a check or a reason is missing", "Write CHECK:REASON"
        )
    return waiver


def sign_off(
    folder: RunFolder, approval: Approval, *, now: dt.datetime, key: Path | None = None
) -> Signoff | Refused:
    """Approve the run: signatures first, ``signoff.json`` last; or say why not.

    Nothing is written where the run is refused. The pages are made again behind it.
    """
    with only_writer(folder):
        changed = differences(folder)
        if changed:
            return Refused(reasons=unmanifested(changed))
        run = read_run(folder.path)
        version = importlib.metadata.version("runoff")
        made_up = (
            *_unplanned(run, folder),
            *unfounded(concluded_again(run), rendered_again(run, version=version)),
        )
        if made_up:
            return Refused(reasons=made_up)
        before = read_signoff(folder)
        signoff = approve(
            evidence_of(run),
            approval.model_copy(update={"signed": key is not None}),
            manifest_sha256=manifest_sha256(folder),
            now=now,
            before=before,
        )
        if isinstance(signoff, Refused):
            return signoff
        if key is not None:
            content = file_text(signoff).encode()
            armoured = sign(content, key)
            last = (signoff.approvals[-1], verify(content, armoured, None))
            if reason := tied(-1, (*_earlier(folder, before), last)):
                do = "Each person signs with a key of their own"
                return Refused(reasons=(Refusal(rule="key", seen=reason, do=do),))
            kept = _kept(folder, before)
            write_whole(folder.file(SIGNATURES), b"".join((*kept, armoured)))
        write_whole(folder.file(layout.SIGNOFF), file_text(signoff).encode())
        render_pages(folder)  # they say who has signed
        return signoff


def _unplanned(run: Run, folder: RunFolder) -> tuple[Refusal, ...]:
    """The refusals for a plan whose contract is not that of its campaign file."""
    do = "Only what was judged by the contract as it is stated is signed: restore the files"
    try:
        found = altered_clauses(folder, run.plan)
    except CatalogError as error:
        found = (f"{layout.CAMPAIGN} cannot be read: {error.seen}",)
    return tuple(Refusal(rule="contract", seen=seen, do=do) for seen in found)


def verified(
    folder: RunFolder, signoff: Signoff, allowed: Path | None
) -> tuple[tuple[Approval, Verified | None], ...]:
    """Each approval with what its detached signature shows; None where it has none."""
    kept = iter(_signatures(folder))
    found: list[tuple[Approval, Verified | None]] = []
    for index, approval in enumerate(signoff.approvals):
        if not approval.signed:
            found.append((approval, None))
            continue
        signature = next(kept, None)
        found.append(
            (
                approval,
                Verified(key=None, who=None, seen=f"{SIGNATURES} does not hold it")
                if signature is None
                else verify(signed_bytes(signoff, index), signature, allowed),
            )
        )
    if next(kept, None) is not None and found:
        approval, last = found[-1]
        seen = f"{SIGNATURES} holds more signatures than there are signed approvals"
        found[-1] = (
            approval,
            replace(
                last or Verified(key=None, who=None, seen=""), key=None, who=None, seen=seen
            ),
        )
    return tuple(found)


def _earlier(
    folder: RunFolder, before: Signoff | None
) -> tuple[tuple[Approval, Verified | None], ...]:
    return () if before is None else verified(folder, before, None)


def _kept(folder: RunFolder, before: Signoff | None) -> tuple[bytes, ...]:
    """The signatures of earlier approvals; one that a killed signer left is dropped."""
    count = 0 if before is None else sum(each.signed for each in before.approvals)
    return _signatures(folder)[:count]


def _signatures(folder: RunFolder) -> tuple[bytes, ...]:
    path = folder.file(SIGNATURES)
    return blocks(path.read_bytes()) if path.is_file() else ()
