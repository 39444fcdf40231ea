"""A candidate's server: what it needs beforehand, its start, and how it is told to end."""

from __future__ import annotations

import importlib.metadata
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.errors import UsageError
from flows.launch.install import Installed, install
from flows.launch.running import Running
from flows.launch.start import launch
from flows.launch.wait import Progress
from flows.launch_plans import Requested, launch_of

_EARLIER: Final = "earlier-"


def as_rendered(plan: LaunchPlan) -> LaunchPlan:
    """The plan itself."""
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A candidate that can be launched: its request, and what was put here for it.

    ``programs`` are this machine's own, where they are what the plan would install.
    ``finished`` is put to the rendered plan: a rehearsal engine gets its physics so.
    """

    requested: Requested
    programs: Mapping[str, str]
    installed: Installed | None = None
    finished: Callable[[LaunchPlan], LaunchPlan] = as_rendered
    is_port_stated: bool = False

    def plan(self) -> LaunchPlan:
        """The launch as it is rendered now: on a free port, unless the file states one."""
        elsewhere: dict[str, Any] = {"programs": self.programs}
        if not self.is_port_stated:
            elsewhere["port"] = free_port()
        return self.finished(_rendered(self.requested, **elsewhere))


def prepare(
    requested: Requested,
    *,
    place: Path,
    environment: Mapping[str, str],
    said: Callable[[str], None] = lambda _line: None,
    finished: Callable[[LaunchPlan], LaunchPlan] = as_rendered,
    is_port_stated: bool = False,
) -> Prepared:
    """The candidate's pinned release put on this machine, once for all that share it.

    Parameters
    ----------
    place
        Takes installations.
    said
        Told each line of an install script.

    Raises
    ------
    InstallError
        With the script's last lines.
    """
    plan = _rendered(requested)
    programs = {} if requested.request is None else dict(requested.request.programs)
    installed = None
    if plan.simulation or (plan.mode == "venv" and not programs and is_here(plan)):
        programs = {"python": sys.executable}
    elif plan.mode != "process" and not programs:
        installed = install(plan, place, environment=environment, progress=said)
    return Prepared(
        requested=requested,
        programs=programs,
        installed=installed,
        finished=finished,
        is_port_stated=is_port_stated,
    )


def is_here(plan: LaunchPlan) -> bool:
    """Whether this interpreter has every package of the plan in its pinned release."""
    wheels = [need for need in plan.needs if need.kind == "wheel"]
    return bool(wheels) and all(_version(need.name) == need.version for need in wheels)


def start_server(
    prepared: Prepared,
    folder: Path,
    *,
    environment: Mapping[str, str],
    progress: Callable[[Progress], None] = lambda _progress: None,
) -> tuple[LaunchPlan, Running]:
    """The plan as it was launched, and its server, ready.

    Raises
    ------
    LaunchError
        With the reason why there is none; nothing of it is left then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plan = prepared.plan()
    venv = None if prepared.installed is None else prepared.installed.environment
    return plan, launch(
        plan, folder, environment=environment, progress=progress, installed=venv
    )


def set_aside(folder: Path) -> int:
    """Keep what earlier launches of this replication left: cells of it may be evidence.

    Returns how many there were.
    """
    if not folder.is_dir():
        return 0
    earlier = [path for path in folder.iterdir() if path.name.startswith(_EARLIER)]
    left = [path for path in folder.iterdir() if path not in earlier]
    if not left:
        return len(earlier)
    place = folder / f"{_EARLIER}{len(earlier) + 1}"
    place.mkdir()
    for path in left:
        shutil.move(path, place / path.name)
    return len(earlier) + 1


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _rendered(requested: Requested, **elsewhere: Any) -> LaunchPlan:
    plan = launch_of(requested, **elsewhere)
    if plan is None:
        raise UsageError(requested.name, "it is measured as it stands", "")
    return plan


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
