"""What comes after the last launch: the conclusion from what is there, and its pages."""

from __future__ import annotations

import hashlib

from flows.measure import Pointer
from flows.underway import Underway, utc_now
from reports.run import layout
from reports.run.decision_file import Decision
from reports.run.read import read_file


def conclude_run(work: Underway) -> None:
    """Write summary, checks and decision; say in the ledger what ended the campaign early."""
    from reports.conclude import conclude  # noqa: PLC0415 - statistics take a second to import

    why = work.interruption.why
    if work.failure is not None and why == "budget":
        work.record("budget-stop", why=work.failure.seen)
    elif why is not None:
        work.record("interrupted", why=why)
    work.store.discard_partials()
    work.record_spent()
    work.record("concluded", why="all that is there is concluded from")
    conclude(work.store.folder, now=utc_now())


def render(work: Underway) -> None:
    """Write the manifest and the pages."""
    from reports.render import render_run  # noqa: PLC0415 - figures take a second to import

    render_run(work.store.folder, now=utc_now())


def decision_of(work: Underway) -> Decision:
    """The decision as it was written."""
    return read_file(work.store.folder.file(layout.DECISION), Decision)


def pointer(work: Underway, name: str) -> Pointer:
    """A file at the top of the run directory, with its digest."""
    content = work.store.folder.file(name).read_bytes()
    return Pointer(path=name, sha256=hashlib.sha256(content).hexdigest())
