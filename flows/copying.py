"""A campaign's run directory, copied to its ``store`` as it completes.

What cannot be copied for a while ends no campaign: all is kept here, every later copy brings
the rest, and what is still missing at the end is the campaign's failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flows.errors import RunoffError
from flows.store.mirror import Mirror
from flows.store.places import StorePlace
from flows.underway import Underway


@contextmanager
def copied(work: Underway, place: StorePlace) -> Iterator[None]:
    """Copy the run while the block lasts and at its end; nothing where runs stay here.

    Raises
    ------
    InfrastructureError
        Before the block, where nothing can be copied: nothing is measured then.
    """
    mirror = place.mirror(work.plan.campaign, work.plan.run)
    if mirror is None:
        yield
        return
    mirror.follow()
    work.progress.said(f"copied to {place.name}/{work.plan.campaign}/{work.plan.run}")
    work.store.tell(lambda: _follow(work, mirror))
    try:
        yield
    finally:
        _complete(work, mirror)


def _follow(work: Underway, mirror: Mirror) -> None:
    try:
        mirror.follow()
    except RunoffError as error:
        work.progress.said(f"not copied yet: {error}")


def _complete(work: Underway, mirror: Mirror) -> None:
    """Copy the rest; a failure counts where nothing worse ended the campaign."""
    try:
        mirror.complete()
    except RunoffError as error:
        work.progress.said(f"the copy is not complete: {error}")
        work.progress.said(f"all of the run is in {work.store.folder.path}; --resume copies it")
        if work.interruption.why is None:
            work.failure = work.failure or error
