"""One campaign at a time on a host, shown to all who share a Prefect server.

The host's own lock is what keeps others out. Where a server is configured its global
concurrency limit shows so in its UI, and makes campaigns of other controllers wait a moment.
It is advisory: a killed campaign's slot stays taken until its lease ends, so one that holds the
host's lock goes on without the slot, and a lease that is lost ends no measurement.
"""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

PREFIX: Final = "runoff-host-"
PATIENCE_S: Final = 5.0
_LEASE_S: Final = 300.0
_LOCAL: Final = "local"


@asynccontextmanager
async def host_turn(host: str, lost: set[str], *, is_shared: bool) -> AsyncIterator[None]:
    """Within the block the host's slot is ours, where there is one to be had.

    ``lost`` are hosts whose slot nobody gives back: it is waited for once.
    """
    if not is_shared or host in lost:
        yield
        return
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - few have a server
    from prefect.concurrency.asyncio import (  # noqa: PLC0415
        AcquireConcurrencySlotTimeoutError,
        concurrency,
    )

    name = limit_name(host)
    async with AsyncExitStack() as held:
        async with get_client() as client:
            await _limited(client, name)
        slot = concurrency(
            name,
            timeout_seconds=PATIENCE_S,
            lease_duration=_LEASE_S,
            raise_on_lease_renewal_failure=False,
        )
        try:
            await held.enter_async_context(slot)
        except AcquireConcurrencySlotTimeoutError:
            lost.add(host)  # the lock is ours: whoever has the slot is gone
        yield


async def _limited(client: PrefectClient, name: str) -> None:
    """There is a limit of that name, whoever of those that begin at the same time made it."""
    from prefect.exceptions import ObjectAlreadyExists  # noqa: PLC0415 - as above

    with suppress(ObjectAlreadyExists):
        await client.upsert_global_concurrency_limit_by_name(name, 1)


def limit_name(host: str) -> str:
    """The limit of a host; ``local`` is another machine for each controller."""
    return f"{PREFIX}{platform.node() if host == _LOCAL else host}"
