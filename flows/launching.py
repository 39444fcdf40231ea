"""A candidate's server: what it needs beforehand, its start, and how it is told to end."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from catalog.entries import Catalog
from catalog.facts import model_of
from catalog.schema import Campaign, Candidate
from deploy_templates.candidate import launch_request
from deploy_templates.plan import LaunchPlan
from deploy_templates.render import render
from deploy_templates.request import LaunchRequest
from deploy_templates.runtime_folder import RuntimeFolder, load_runtime_folder
from flows.launch.install import Installed, install
from flows.launch.running import Running
from flows.launch.start import launch
from flows.launch.wait import Progress
from flows.launch_plans import local_class
from flows.weights import Told, prepared_weights

_EARLIER: Final = "earlier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A candidate that can be launched: its request, and what was installed for it.

    ``finished`` is put to the rendered plan: a rehearsal engine gets its physics so.
    """

    request: LaunchRequest
    runtime: RuntimeFolder
    installed: Installed | None = None
    finished: Callable[[LaunchPlan], LaunchPlan] = lambda plan: plan

    def plan(self, port: int | None = None) -> LaunchPlan:
        """The launch as it is rendered now, on that port (None: the stated one)."""
        request = self.request if port is None else replace(self.request, port=port)
        return self.finished(render(request, self.runtime))


def prepare(
    campaign: Campaign,
    candidate: Candidate,
    catalog: Catalog,
    *,
    folders: Sequence[Path],
    cache: Path,
    environment: Mapping[str, str],
    told: Told = lambda _done, _total: None,
    said: Callable[[str], None] = lambda _line: None,
) -> Prepared:
    """The candidate's weights and its runtime's release, put on this machine once.

    Parameters
    ----------
    cache
        Takes dummies and installations.
    told, said
        Bytes of a dummy as they are made; lines of an install script.

    Raises
    ------
    RunoffError
        Where the weights cannot be had or the release cannot be installed.
    """
    runtime = load_runtime_folder(candidate.runtime or "", folders)
    here = local_class(platform.system(), platform.machine())
    request = launch_request(campaign, candidate, catalog, runtime, local_class=here)
    model = model_of(catalog, campaign.contract.model)
    checkpoint = prepared_weights(
        candidate, request, runtime, model, cache=cache / "checkpoints", told=told
    )
    request = replace(request, checkpoint=checkpoint)
    plan = render(request, runtime)
    if request.mode == "process" or request.programs:
        return Prepared(request=request, runtime=runtime)
    if request.mode == "venv" and is_here(plan):
        ours = replace(request, programs={"python": sys.executable})
        return Prepared(request=ours, runtime=runtime)
    installed = install(plan, cache / "installs", environment=environment, progress=said)
    return Prepared(request=request, runtime=runtime, installed=installed)


def is_here(plan: LaunchPlan) -> bool:
    """Whether this interpreter has every package of the plan in its pinned release."""
    wheels = [need for need in plan.needs if need.kind == "wheel"]
    return bool(wheels) and all(_version(need.name) == need.version for need in wheels)


def start_server(
    prepared: Prepared,
    folder: Path,
    *,
    environment: Mapping[str, str],
    is_port_stated: bool,
    progress: Callable[[Progress], None],
) -> tuple[LaunchPlan, Running]:
    """The plan as it was launched, and its server, ready.

    Raises
    ------
    LaunchError
        With the reason why there is none; nothing of it is left then.
    """
    set_aside(folder)
    folder.mkdir(parents=True, exist_ok=True)
    plan = prepared.plan(None if is_port_stated else free_port())
    venv = None if prepared.installed is None else prepared.installed.environment
    running = launch(plan, folder, environment=environment, progress=progress, installed=venv)
    return plan, running


def set_aside(folder: Path) -> None:
    """Keep what an earlier launch of this replication left: cells of it may be evidence."""
    if not folder.is_dir():
        return
    found = [path for path in folder.iterdir() if not path.name.startswith(_EARLIER)]
    if not found:
        return
    number = sum(path.name.startswith(_EARLIER) for path in folder.iterdir()) + 1
    place = folder / f"{_EARLIER}-{number}"
    place.mkdir()
    for path in found:
        shutil.move(path, place / path.name)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
