"""Launch plans of a campaign's candidates, and what they need from outside."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.schema import Campaign, Candidate
from deploy_templates.candidate import launch_request
from deploy_templates.clashes import check_unmanaged
from deploy_templates.plan import LaunchPlan, Need
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest
from deploy_templates.runtime_folder import RuntimeFolder, load_runtime_folder

SCHEMA_VERSION = 1
_ARM = ("aarch64", "arm64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One candidate: its launch, or the endpoints that are measured as they stand.

    ``device_class`` is the catalog's, of where it is launched (``cuda``, ``cpu-x86``).
    ``is_digest_open``: its dummy weights are made by a run, so the fingerprint lacks their
    digest and a run's will differ.
    ``problem`` says why one that is not measured could not be launched either.
    """

    name: str
    plan: LaunchPlan | None = None
    device_class: str | None = None
    endpoints: tuple[str, ...] = ()
    replicas: int = 1
    weight_bytes: int | None = None
    problem: str = ""
    is_digest_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNeed:
    """One need, and the candidates that have it."""

    need: Need
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """One candidate's launch as it is asked for, so that it can be asked for again elsewhere.

    A flow that knows better where things are renders ``request`` anew with ``launch_of``: a
    free port, a prepared checkpoint, the host's programs, cores of its own.
    """

    name: str
    request: LaunchRequest | None = None
    runtime: RuntimeFolder | None = None
    endpoints: tuple[str, ...] = ()
    replicas: int = 1


def planned(
    campaign: Campaign,
    catalog: Catalog,
    folders: Sequence[Path] = (),
    *,
    checkpoints: Mapping[str, Checkpoint] | None = None,
    lenient: Collection[str] = (),
    finished: Mapping[str, Callable[[LaunchPlan], LaunchPlan]] | None = None,
) -> tuple[Planned, ...]:
    """Every candidate's launch plan, in file order.

    ``checkpoints`` are those that lie prepared, by candidate. A candidate of ``lenient`` whose
    runtime cannot launch it is planned without a launch, with the reason. ``finished`` is put
    to a rendered plan, by candidate: a rehearsal engine gets its physics so.

    Raises
    ------
    CatalogError
        For any other candidate that cannot be launched as it is stated, with the reason.
    """

    def one(candidate: Candidate) -> Planned:
        asked = request_of(campaign, candidate, catalog, folders, checkpoints)
        try:
            return _planned(asked, (finished or {}).get(candidate.name))
        except CatalogError as error:
            if candidate.name not in lenient:
                raise
            _check_words(asked)  # a mistake in the file stays one
            return Planned(name=candidate.name, problem=error.seen)

    return tuple(one(candidate) for candidate in campaign.candidates)


def request_of(
    campaign: Campaign,
    candidate: Candidate,
    catalog: Catalog,
    folders: Sequence[Path] = (),
    checkpoints: Mapping[str, Checkpoint] | None = None,
) -> Requested:
    """The candidate's launch request.

    ``checkpoints`` are those that lie prepared (a dummy that was made, a file that was
    fetched), by candidate; without one the request names a place that is yet to be filled.
    Raises CatalogError for a candidate that cannot be launched as it is stated.
    """
    if candidate.runtime is None:
        return Requested(name=candidate.name, endpoints=candidate.endpoint)
    runtime = load_runtime_folder(candidate.runtime, folders)
    request = launch_request(
        campaign,
        candidate,
        catalog,
        runtime,
        local_class=local_class(platform.system(), platform.machine()),
    )
    prepared = (checkpoints or {}).get(candidate.name)
    return Requested(
        name=candidate.name,
        request=request if prepared is None else replace(request, checkpoint=prepared),
        runtime=runtime,
        replicas=candidate.replicas_per_host or 1,
    )


def launch_of(one: Requested, **elsewhere: Any) -> LaunchPlan | None:
    """The launch plan, None for an endpoint; ``elsewhere`` replaces fields of the request."""
    if one.request is None or one.runtime is None:
        return None
    return render(replace(one.request, **elsewhere), one.runtime)


def _check_words(one: Requested) -> None:
    if one.request is not None and one.runtime is not None:
        check_unmanaged(one.request, one.runtime.launch, f"candidate {one.name!r}")


def _planned(one: Requested, finished: Callable[[LaunchPlan], LaunchPlan] | None) -> Planned:
    plan = launch_of(one)
    return Planned(
        name=one.name,
        plan=plan if plan is None or finished is None else finished(plan),
        device_class=None if one.request is None else one.request.device_class,
        endpoints=one.endpoints,
        replicas=one.replicas,
        weight_bytes=None if one.request is None else one.request.weight_bytes,
        is_digest_open=_is_digest_open(one),
    )


def _is_digest_open(one: Requested) -> bool:
    if one.request is None or one.runtime is None or one.runtime.capabilities.simulation:
        return False
    checkpoint = one.request.checkpoint
    return checkpoint.kind == "dummy" and checkpoint.sha256 is None


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
