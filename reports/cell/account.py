"""What a replication's own files say of its run: the client's account, the server's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reports.cell.settings import ClientHealth, Observed, ServerWatch

_FACTS: Final = ("basis", "cell", "replication", "seed", "prompts", "server")
_WAITS: Final = ("server_queue_time_p95", "server_queue_time_mean")


def observed_of(account: Mapping[str, Any]) -> Observed:
    """What the client's account (``client.json``) says of the run beside its requests."""
    shards = account["shards"]
    converged = [shard["warmup_converged"] for shard in shards]
    server = account["server"]
    names = ServerWatch.__dataclass_fields__
    return Observed(
        complete=account["complete"],
        warmup_converged=None if None in converged else all(converged),
        clients=tuple(ClientHealth.of(shard["client"]) for shard in shards),
        server=None
        if server["runtime"] is None
        else ServerWatch(**{name: server[name] for name in names}),
    )


def with_accounts(
    document: Mapping[str, Any], account: Mapping[str, Any], server: Mapping[str, Any]
) -> dict[str, Any]:
    """The object of ``bench --json``: a cell's summary and the facts around it.

    ``load_machines`` is there where the load came from other machines than one.
    """
    machines = [shard["client"].get("machine") for shard in account["shards"]]
    return {
        **({"load_machines": machines} if any(machines) else {}),
        **document,
        **{key: server[key] for key in _WAITS},
        **{key: account[key] for key in _FACTS},
        "connections": [shard["connections"] for shard in account["shards"]],
        "plan_ran_out": any(shard["client"]["plan_ran_out"] for shard in account["shards"]),
    }
