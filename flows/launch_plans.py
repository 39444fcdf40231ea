"""Launch plans of a campaign's candidates, and what they need from outside."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from catalog.entries import Catalog
from catalog.schema import Campaign
from deploy_templates.candidate import launch_request
from deploy_templates.plan import LaunchPlan, Need
from deploy_templates.render import render
from deploy_templates.runtime_folder import RuntimeFolder, load_runtime_folder

SCHEMA_VERSION = 1
_ARM = ("aarch64", "arm64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One candidate: its launch, or the endpoints that are measured as they stand."""

    name: str
    plan: LaunchPlan | None = None
    endpoints: tuple[str, ...] = ()
    replicas: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNeed:
    """One need, and the candidates that have it."""

    need: Need
    candidates: tuple[str, ...]


def planned(
    campaign: Campaign, catalog: Catalog, folders: Sequence[Path] = ()
) -> tuple[Planned, ...]:
    """Every candidate's launch plan, in file order.

    Raises
    ------
    CatalogError
        For a candidate that cannot be launched as it is stated, with the reason.
    """

    @cache
    def runtime(name: str) -> RuntimeFolder:
        return load_runtime_folder(name, folders)

    return tuple(
        Planned(name=candidate.name, endpoints=candidate.endpoint)
        if candidate.runtime is None
        else Planned(
            name=candidate.name,
            plan=render(
                launch_request(
                    campaign,
                    candidate,
                    catalog,
                    runtime(candidate.runtime),
                    local_class=local_class(platform.system(), platform.machine()),
                ),
                runtime(candidate.runtime),
            ),
            replicas=candidate.replicas_per_host or 1,
        )
        for candidate in campaign.candidates
    )


def local_class(system: str, machine: str) -> str:
    """Device class of a machine that names no device: what serves on it without a GPU."""
    is_arm = machine.lower() in _ARM
    if system == "Darwin" and is_arm:
        return "metal"
    return "cpu-arm" if is_arm else "cpu-x86"


def shared_needs(plans: Iterable[Planned]) -> tuple[SharedNeed, ...]:
    """Needs of all plans, each once, with the candidates that have it."""
    found: dict[Need, list[str]] = {}
    for one in plans:
        for need in one.plan.needs if one.plan is not None else ():
            found.setdefault(need, []).append(one.name)
    return tuple(
        SharedNeed(need=need, candidates=tuple(dict.fromkeys(names)))
        for need, names in found.items()
    )


def to_json(campaign: Campaign, plans: Sequence[Planned]) -> Mapping[str, Any]:
    """The launch part of a plan as strict JSON values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": campaign.name,
        "candidates": [
            {
                "name": one.name,
                "replicas": one.replicas,
                "endpoints": list(one.endpoints),
                "launch": one.plan.to_json() if one.plan is not None else None,
            }
            for one in plans
        ],
        "needs": [
            {**asdict(shared.need), "candidates": list(shared.candidates)}
            for shared in shared_needs(plans)
        ],
    }
