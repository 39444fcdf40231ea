"""One campaign at a time on a host, for all who share a Prefect server.

The host's own lock is what keeps others out. Where a server is configured its global
concurrency limit says so to campaigns of other machines too, and shows it in the UI; it is
advisory: a limit or a lease that is lost ends no measurement.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

PREFIX: Final = "runoff-host-"
_LEASE_S: Final = 3600.0  # renewed at three quarters of it, rarely within a measured window


@asynccontextmanager
async def host_turn(host: str, *, is_shared: bool) -> AsyncIterator[None]:
    """Within the block the host's slot is ours, where the server is one that others use."""
    if not is_shared:
        yield
        return
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - few have a server
    from prefect.concurrency.asyncio import concurrency  # noqa: PLC0415

    name = f"{PREFIX}{host}"
    async with get_client() as client:
        await client.upsert_global_concurrency_limit_by_name(name, 1)
    async with concurrency(
        name, occupy=1, lease_duration=_LEASE_S, raise_on_lease_renewal_failure=False
    ):
        yield
