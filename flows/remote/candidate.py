"""A candidate on a host over SSH: the twin of ``flows.launching`` for machines elsewhere."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.errors import UsageError
from flows.launch.secrets import secrets_of
from flows.launch.wait import Progress
from flows.launch_plans import Requested, launch_of
from flows.launching import Prepared, as_rendered
from flows.remote.host import RemoteHost
from flows.remote.install import remote_install
from flows.remote.launching import RemoteRunning, remote_launch
from flows.remote.ship import shipped

_KEY: Final = "_API_KEY"
_KEY_BYTES: Final = 24


def prepare_there(
    host: RemoteHost,
    requested: Requested,
    *,
    said: Callable[[str], None] = lambda _line: None,
    finished: Callable[[LaunchPlan], LaunchPlan] = as_rendered,
    is_port_stated: bool = False,
) -> Prepared:
    """The candidate's pinned release and its weights put on the host, each once.

    Weights that lie in a folder or file here travel; a name of the hub is fetched there.

    Parameters
    ----------
    said
        Told each line of an install script, and each file that is copied.

    Raises
    ------
    InstallError
        With the script's last lines.
    UsageError
        For a simulated engine, which runs where runoff is installed.
    """
    plan = _rendered(requested)
    if plan.simulation:
        raise UsageError(
            f"candidate {requested.name!r}",
            "a simulated engine runs where runoff is installed, not on a host over SSH",
            "Rehearse it with host: local",
        )
    requested = _with_weights(host, requested, said)
    programs = {} if requested.request is None else dict(requested.request.programs)
    installed = None
    if plan.mode != "process" and not programs:
        installed = remote_install(host, plan, progress=said)
    return Prepared(
        requested=requested,
        programs=programs,
        installed=installed,
        finished=finished,
        is_port_stated=is_port_stated,
    )


def start_there(
    host: RemoteHost,
    prepared: Prepared,
    folder: Path,
    *,
    name: str,
    environment: Mapping[str, str],
    progress: Callable[[Progress], None] = lambda _progress: None,
    is_open: bool = False,
) -> tuple[LaunchPlan, RemoteRunning]:
    """The plan as it was launched on the host, and its server there, ready.

    ``name`` is the launch's among all of this user's on that host; ``folder`` is here.
    ``is_open``: it listens on all interfaces of the host, and answers only with its key.

    Raises
    ------
    LaunchError
        With the reason why there is none; nothing of it is left then.
    UsageError
        For one that is to be open and takes no key.
    """
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere: dict[str, Any] = {"programs": prepared.programs, "is_open": is_open}
    if not prepared.is_port_stated:
        elsewhere["port"] = host.ask("free_port")
    plan = prepared.finished(_rendered(prepared.requested, **elsewhere))
    name_of_key = _key_of(prepared.requested, plan)
    if is_open and name_of_key is None:
        raise UsageError(
            f"candidate {plan.name!r}",
            "its engine takes no key, so it is not opened to other machines",
            "Use load_from: candidate",
        )
    key = {} if name_of_key is None else {name_of_key: secrets.token_urlsafe(_KEY_BYTES)}
    plan = replace(plan, secret_env=(*plan.secret_env, *key))
    return plan, remote_launch(
        host,
        plan,
        folder,
        name=name,
        environment=environment,
        secrets={**secrets_of(plan, environment).values, **key},
        headers=_headers(key.get(name_of_key or "")),
        progress=progress,
        installed=prepared.installed,
    )


def _key_of(requested: Requested, plan: LaunchPlan) -> str | None:
    """The name under which the engine takes a key from its environment; None: it takes none.

    With a key of its own a server answers nobody else who can reach the host's loopback
    interface. A container's environment was settled when the plan was rendered.
    """
    runtime = requested.runtime
    known = () if runtime is None or plan.mode == "container" else runtime.launch.managed_env
    return next((name for name in known if name.endswith(_KEY)), None)


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _with_weights(
    host: RemoteHost, requested: Requested, said: Callable[[str], None]
) -> Requested:
    request = requested.request
    if request is None or request.checkpoint.location is None:
        return requested
    here = Path(request.checkpoint.location)
    if not here.exists():
        return requested  # it lies there, or the launch says that it does not
    there = replace(request.checkpoint, location=shipped(host, here, said=said))
    return replace(requested, request=replace(request, checkpoint=there))


def _rendered(requested: Requested, **elsewhere: Any) -> LaunchPlan:
    plan = launch_of(requested, **elsewhere)
    if plan is None:
        raise UsageError(requested.name, "it is measured as it stands", "")
    return plan
