"""Where runoff keeps what outlives a run: its state, and what it can make again.

``RUNOFF_HOME`` names one folder for both; without it the desktop's own places are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "RUNOFF_HOME"


def state_folder(environment: Mapping[str, str]) -> Path:
    """Prefect's database, records of what must be found again after a crash."""
    return _place(environment, "state", "XDG_STATE_HOME", ".local/state")


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Checkpoints and installations: gigabytes that can be made again."""
    return _place(environment, "cache", "XDG_CACHE_HOME", ".cache")


def _place(environment: Mapping[str, str], name: str, variable: str, usual: str) -> Path:
    own = environment.get(VARIABLE)
    if own:
        return Path(own).absolute() / name
    base = environment.get(variable)
    home = Path(environment.get("HOME") or Path.home())
    return (Path(base) if base else home / usual) / "runoff"
