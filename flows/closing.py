"""What comes after the last launch: the conclusion from what is there, and its pages."""

from __future__ import annotations

import hashlib

from flows.measure import Pointer
from flows.store.runs import runs_of
from flows.underway import Underway, utc_now
from reports.run import layout
from reports.run.decision_file import Decision
from reports.run.read import read_file


def conclude_run(work: Underway) -> None:
    """Write summary, checks and decision; say in the ledger what ended the campaign early."""
    from reports.conclude import conclude  # noqa: PLC0415 - statistics take a second to import

    work.interruption.nothing_is_left()
    why = work.interruption.why
    if work.failure is not None and why == "budget":
        work.record("budget-stop", why=work.failure.seen)
    elif why is not None:
        work.record("interrupted", why=why)
    work.store.discard_partials()
    work.record_spent()
    keep_history(work)
    work.record("concluded", why="all that is there is concluded from")
    conclude(work.store.folder, now=utc_now())


def keep_history(work: Underway) -> None:
    """Write down the comparable runs that lie beside this one, for the report's history."""
    from reports.history.snapshot import earlier_runs, snapshot_text  # noqa: PLC0415 - as above

    here = work.store.folder.path
    there = runs_of(here.parent.parent, here.parent.name)
    earlier = [path for path in reversed(there) if path.name < here.name]
    found = earlier_runs(work.plan, earlier)
    if found is not None:
        work.store.write(layout.HISTORY, snapshot_text(found))


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
