"""What stands in a launch's folder before the server starts, and what the server sees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy_templates.plan import LaunchPlan
from flows.bench.places import write_whole
from flows.errors import UsageError
from flows.launch.secrets import Secrets

PLAN_NAME: Final = "plan.json"
LOG_NAME: Final = "server.log"
FACTS_NAME: Final = "launch.json"
ENVIRONMENT_NAME: Final = "venv"


def lay_out(plan: LaunchPlan, folder: Path, installed: Path | None) -> Path:
    """Write the plan and its files; returns the folder in which the server is started."""
    working = _inside(folder, plan.working_directory)
    try:
        working.mkdir(parents=True, exist_ok=True)
        write_whole(folder / PLAN_NAME, plan.text())
        for name, text in plan.files.items():
            path = _inside(working, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        if installed is not None:
            _link(working / ENVIRONMENT_NAME, installed)
    except OSError as error:
        raise UsageError(
            str(folder), f"it cannot be written: {error.strerror}", "Choose another folder"
        ) from None
    return working


def inherited(plan: LaunchPlan, environment: Mapping[str, str]) -> dict[str, str]:
    """What the plan takes over from the caller's environment."""
    return {name: environment[name] for name in plan.inherit_env if name in environment}


def environment_of(
    plan: LaunchPlan, environment: Mapping[str, str], secrets: Secrets
) -> dict[str, str]:
    """The server's environment: what it inherits, what the plan adds, its secrets."""
    handed_on = secrets.chosen(plan.secret_env)
    return {**inherited(plan, environment), **plan.env, **handed_on}


def _inside(folder: Path, name: str) -> Path:
    """A path of the plan, which may not lead out of the launch's folder."""
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"the plan's file {name!r}", "it leads out of the folder", "Rename it")
    return path


def _link(place: Path, target: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(target.resolve(), target_is_directory=True)
