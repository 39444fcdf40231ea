"""Whether a campaign has anything left to do, and whether its run already says all of it."""

from __future__ import annotations

from typing import Final

from flows import clocks, qualifying
from flows.underway import Underway
from reports.errors import ReportsError
from reports.manifest import verify
from reports.run import layout
from reports.run.read import read_run

_PAGES: Final = (layout.REPORT_HTML, layout.REPORT_MARKDOWN, layout.JUNIT)


def is_needed(work: Underway, host: str) -> bool:
    """Whether a machine may have anything left to do: a resumed run rents none for nothing.

    One whose clocks were locked may be the winner's, whose cell is repeated at free ones.
    """
    cells = ((visit, point) for visit in work.visits(host) for point in work.missing(visit))
    return (
        any(work.skipped(visit, point) is None for visit, point in cells)
        or any(
            work.needs_search(name) and not work.is_given_up(name)
            for name in work.candidates(host)
        )
        or clocks.has_locked(work, host)
        or qualifying.is_open(work)
    )


def is_whole(work: Underway) -> bool:
    """Whether the run is concluded from all that was to be measured, pages and all.

    Then nothing of it is written again: its manifest may have been handed on.
    """
    folder = work.store.folder
    names = (layout.DECISION, *_PAGES)
    if not all(folder.file(name).is_file() for name in names) or verify(folder):
        return False
    try:
        if read_run(folder.path).summary.interrupted is not None:
            return False
    except ReportsError:
        return False
    return not any(is_needed(work, host) for host in work.hosts)
