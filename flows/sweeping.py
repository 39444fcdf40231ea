"""The sweep: what nobody needs any more is removed, on a schedule or at a click."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from flows.clouds.protocol import Site
from flows.errors import InfrastructureError, StillBilled
from flows.home import state_folder
from flows.owned_here import recorder, sweep

_DO: Final = "Look at runoff machines"


def swept(
    environment: Mapping[str, str], stores: Iterable[Path], now: Callable[[], dt.datetime]
) -> tuple[str, ...]:
    """Sweep once; the ids of what was removed.

    Raises
    ------
    StillBilled
        If something would not go.
    InfrastructureError
        If a cloud could not be asked, or a ledger could not be read.
    """
    site = Site(environment=environment, state=state_folder(environment), now=now)
    ledger, record = recorder(site.state, now)
    try:
        done = sweep(site, stores, record)
    finally:
        ledger.close()
    if done.failed:
        raise StillBilled("sweep", "; ".join(map(str, done.failed)), _DO)
    if done.problems:
        raise InfrastructureError("sweep", "; ".join(done.problems), _DO)
    return tuple(each.machine.id for each in done.removed)
