"""What is asked before a campaign starts: its candidates, each with all that paper tells."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from catalog.architecture import kv_precision, precision
from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.facts import Facts
from catalog.placement import CPU_CLASSES
from catalog.resolve import resolve
from catalog.sale import Sale
from catalog.schema import Campaign, Candidate, Runtime
from deploy_templates.plan import LaunchPlan
from deploy_templates.runtime_folder import load_runtime_folder
from flows.launch_plans import local_class, planned

LOCAL: Final = "local"
_HOST_MEMORY: Final = (*CPU_CLASSES, "metal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One candidate; what is not known of it is None.

    ``refusal`` is why it cannot be launched as stated. ``weight_bytes`` are one replica's,
    ``kv_bytes`` those of the most streams that the campaign opens, each at its longest.
    ``loads_files``: its engine fetches nothing by a hub's name.
    """

    candidate: Candidate
    plan: LaunchPlan | None = None
    refusal: CatalogError | None = None
    sale: Sale | None = None
    gated: bool | None = None
    weight_bytes: int | None = None
    kv_bytes: int | None = None
    in_host_memory: bool = False
    loads_files: bool = False

    @property
    def where(self) -> str:
        """The candidate as messages name it."""
        return f"candidate {self.candidate.name!r}"

    @property
    def is_local(self) -> bool:
        """Whether its server runs on this machine."""
        return self.candidate.host == LOCAL

    @property
    def is_endpoint(self) -> bool:
        """Whether it is a service that runs already."""
        return bool(self.candidate.endpoint)

    @property
    def replicas(self) -> int:
        """Servers that run side by side on its host."""
        return self.candidate.replicas_per_host or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A campaign with the candidates that would be measured, and where files would go.

    ``checkpoints`` is the folder in which weights are kept on this machine.
    """

    campaign: Campaign
    subjects: tuple[Subject, ...]
    store: Path
    checkpoints: Path

    @property
    def local(self) -> tuple[Subject, ...]:
        """Candidates whose servers run on this machine."""
        return tuple(subject for subject in self.subjects if subject.is_local)

    @property
    def streams(self) -> int:
        """The most requests that a cell of a stated concurrency has in flight."""
        contract = self.campaign.contract.concurrency or 1
        return max((*self.campaign.matrix.concurrency, contract))


def question_of(
    campaign: Campaign,
    catalog: Catalog,
    runtimes: Mapping[str, Runtime],
    *,
    today: dt.date,
    store: Path,
    checkpoints: Path,
    folders: Sequence[Path] = (),
    names: Collection[str] | None = None,
) -> Question:
    """The question for the candidates of these names (None: all of the file's).

    Raises
    ------
    CatalogError
        For a contract whose model or precision the catalog lacks.
    """
    facts = Facts.of(campaign, catalog, runtimes, today)
    empty = Question(campaign=campaign, subjects=(), store=store, checkpoints=checkpoints)
    subjects = tuple(
        _subject(facts, candidate, folders, empty.streams)
        for candidate in campaign.candidates
        if names is None or candidate.name in names
    )
    return replace(empty, subjects=subjects)


def _subject(
    facts: Facts, candidate: Candidate, folders: Sequence[Path], streams: int
) -> Subject:
    alone = facts.campaign.model_copy(update={"candidates": (candidate,), "incumbent": None})
    try:
        sale = resolve(facts, candidate).sale
        plan = planned(alone, facts.catalog, folders)[0].plan
    except CatalogError as error:
        return Subject(candidate=candidate, refusal=error)
    plain = Subject(candidate=candidate, plan=plan, sale=sale)
    if plan is None or plan.simulation:
        return plain
    weight_bytes, kv_bytes = _bytes(facts, candidate, streams)
    folder = load_runtime_folder(plan.runtime, folders)
    return replace(
        plain,
        gated=_gated(facts, plan),
        weight_bytes=weight_bytes,
        kv_bytes=kv_bytes,
        loads_files=folder.launch.loads_files,
        in_host_memory=_device_class(facts, candidate) in _HOST_MEMORY,
    )


def _bytes(facts: Facts, candidate: Candidate, streams: int) -> tuple[int | None, int | None]:
    if facts.arch is None:
        return None, None
    stated = candidate.precision, candidate.kv_precision
    sums = facts.arithmetic(facts.arch, candidate.checkpoint).sums(
        precision(stated[0]) if stated[0] else facts.weights,
        kv_precision(stated[1]) if stated[1] else facts.kv,
        k=1,
        block_tokens=1,
    )
    return int(sums.weights), int(streams * sums.kv_longest + sums.kv_shared)


def _gated(facts: Facts, plan: LaunchPlan) -> bool | None:
    """Whether the plan's checkpoint wants a licence accepted, by the catalog's word."""
    wanted = {need.name for need in plan.needs if need.kind == "checkpoint"}
    listed = [each.gated for each in facts.model.checkpoints if each.name in wanted]
    return any(listed) if listed and None not in listed else (True if True in listed else None)


def _device_class(facts: Facts, candidate: Candidate) -> str:
    if candidate.offer is not None:
        return facts.catalog.device(facts.catalog.offer(candidate.offer).device).device_class
    if candidate.device is not None:
        return facts.catalog.device(candidate.device).device_class
    return local_class(platform.system(), platform.machine())
