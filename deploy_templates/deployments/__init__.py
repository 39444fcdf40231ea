"""A measured launch as something that keeps it running: one module for each way.

Each module has ``files(deployment)``, which returns the files to write by name, and is found
by scanning this folder. What a way cannot express is said in the file's first lines, or
refused with CatalogError; nothing is silently left out.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType

from catalog.complaints import did_you_mean
from catalog.errors import CatalogError
from deploy_templates.deployments.deployment import Deployment

_PARTS = ("deployment", "container_words")


def ways() -> tuple[str, ...]:
    """Every way of keeping a launch running, by name."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in names if name not in _PARTS))


def deployed(way: str, deployment: Deployment) -> Mapping[str, str]:
    """The files of one way, by name.

    Raises
    ------
    CatalogError
        For a way that there is not, or a launch that it cannot express.
    """
    if way not in ways():
        raise CatalogError("--launch", f"there is no way {way!r}", did_you_mean(way, ways()))
    module: ModuleType = importlib.import_module(f"{__name__}.{way}")
    files: Mapping[str, str] = module.files(deployment)
    return files
