"""The folder in which a deployed flow works: named by its pull step, entered by the flow.

Prefect's own step for it puts the folder on the Python path of each run, before all else. A
user's file there, such as click.py, then hides a module, and the run hangs before it begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from prefect.client.schemas.objects import State

from flows.errors import ExitCode, InfrastructureError
from flows.final_state import final_state

PULL_STEP: Final = f"{__name__}.work_in"
_FOLDER: Final = "RUNOFF_WORK_FOLDER"


def work_in(directory: str) -> dict[str, str]:
    """Have the flow of this run work in the folder; it returns where, for Prefect's log.

    The name of what it returns is not the one by which Prefect would take the folder itself.
    """
    os.environ[_FOLDER] = directory
    return {"works_in": directory}


def at_work(run: Callable[[], State[Any]]) -> State[Any]:
    """What ``run`` returns in that folder, or here where no step has named one."""
    folder = os.environ.pop(_FOLDER, None)
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            refusal = InfrastructureError(
                f"folder {folder}",
                f"it cannot be entered on the worker's machine: {error.strerror}",
                "Make it there, or deploy again with --folder",
            )
            return final_state(ExitCode.INFRASTRUCTURE, str(refusal), ())
    return run()
