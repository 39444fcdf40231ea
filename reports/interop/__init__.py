"""Result files of other tools, in and out: one module for each tool, found by scanning.

A module has ``read(text, where)``, which returns the runs of a file as ``Foreign`` values or
refuses it with its reason, and ``write(cell)``, which returns one object of the tool's format.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any, cast

from catalog.complaints import did_you_mean
from reports.errors import ReportsError
from reports.interop.foreign import Foreign, OwnCell

_PARTS = ("foreign",)
Reader = Callable[[str, str], tuple[Foreign, ...]]
Writer = Callable[[OwnCell], Mapping[str, Any]]


def tools() -> tuple[str, ...]:
    """Every tool whose files can be read, as the command line names it."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in names if name not in _PARTS))


def reader(tool: str) -> Reader:
    """What reads a tool's files; ReportsError for a tool that is not known."""
    return cast("Reader", _module(tool).read)


def writer(tool: str) -> Writer:
    """What writes a tool's files; ReportsError for a tool that is not known."""
    return cast("Writer", _module(tool).write)


def _module(tool: str) -> Any:
    if tool not in tools():
        raise ReportsError("--tool", f"there is no tool {tool!r}", did_you_mean(tool, tools()))
    return importlib.import_module(f"{__name__}.{tool.replace('-', '_')}")
