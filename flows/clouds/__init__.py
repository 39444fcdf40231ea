"""The clouds, found by scanning this folder: a module with ``serves`` and ``connect``.

``serves(host, offer)`` says whether the driver is meant by a candidate's ``host`` or
``offer`` as the campaign file writes them. ``connect(site)`` gives the driver; a library that
is slow to import is imported there, so that a campaign pays only for the clouds that it uses.
``configured(site)``, where a module has it, says whether this user can own anything there;
``findings(site, candidates)`` what would keep a campaign from machines that it needs there.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from catalog.schema import Candidate
from flows.clouds.protocol import Driver, Site
from flows.errors import UsageError

if TYPE_CHECKING:
    from flows.preflight.finding import Finding


class Cloud(NamedTuple):
    """One driver module: its name, what it is meant by, and how it is opened."""

    name: str
    serves: Callable[[str | None, str | None], bool]
    connect: Callable[[Site], Driver]
    configured: Callable[[Site], bool] = lambda _site: True
    findings: Callable[[Site, Sequence[Candidate]], Iterable[Finding]] = lambda *_: ()


def all_clouds() -> tuple[Cloud, ...]:
    """Every driver of this folder, by name."""
    return clouds_in(sys.modules[__name__])


@cache
def clouds_in(package: ModuleType) -> tuple[Cloud, ...]:
    """Drivers of a package, by scanning its folder; nothing has to be registered."""
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if hasattr(module, "connect"):
            more = {
                name: getattr(module, name)
                for name in ("configured", "findings")
                if hasattr(module, name)
            }
            found.append(Cloud(info.name, module.serves, module.connect, **more))
    return tuple(sorted(found))


def findings_before(site: Site, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
    """What each cloud has against renting for its candidates, asked before anything is paid."""
    found: list[Finding] = []
    for cloud in all_clouds():
        served = [each for each in candidates if cloud.serves(each.host, each.offer)]
        if served:
            found += cloud.findings(site, served)
    return tuple(found)


def cloud_of(host: str | None, offer: str | None, where: str) -> Cloud:
    """The driver that is meant by a candidate's host or offer.

    Raises
    ------
    UsageError
        If there is none; ``where`` names the candidate.
    """
    for cloud in all_clouds():
        if cloud.serves(host, offer):
            return cloud
    seen = f"host {host!r}" if host is not None else f"offer {offer!r}"
    known = ", ".join(cloud.name for cloud in all_clouds())
    raise UsageError(
        where,
        f"no driver gives out {seen} (there is: {known})",
        "Start the server there yourself and give its address as endpoint:",
    )
