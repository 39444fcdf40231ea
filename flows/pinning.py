"""A baseline found, held against its manifest, and made into the campaign of a re-evaluation.

That campaign is today's file with the baseline's winner in it once more, exactly as it was
configured: the control, and the incumbent. Releases are those that are asked for. It is written
into the run as ``campaign.yaml``, with what was pinned beside it as ``baseline.json``.
"""

from __future__ import annotations

import copy
import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.load import load_campaign
from catalog.schema import Campaign, Candidate
from catalog.yaml_nodes import read_document
from deploy_templates.runtime_folder import load_runtime_folder
from flows.errors import EvidenceError, UsageError
from flows.launch_plans import planned
from flows.run_directory import refuse_changed
from flows.store.runs import runs_of
from reports.manifest import manifest_sha256
from reports.reevaluate.pin import baseline_of, origin_of
from reports.run import layout
from reports.run.baseline_file import Baseline, Versions
from reports.run.layout import RunFolder
from reports.run.plan_file import RunPlan
from reports.run.read import Run, read_file, read_run

BEHIND: Final = "-baseline"  # the control's name: whom it stands for, and this
_Release = tuple[str | None, str | None]  # runtime, version
_PRICES: Final = ("price",)  # what a control takes from today's file: it is no configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A baseline that is what its manifest says."""

    run: Run
    manifest_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The campaign of a re-evaluation, its text, and the baseline as this run keeps it."""

    text: bytes
    campaign: Campaign
    baseline: Baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Today's campaign with what its releases are known by."""

    campaign: Campaign
    catalog: Catalog
    folders: Sequence[Path]
    versions: Versions


def pinned(root: Path, campaign: str, wanted: str, *, sha256: str | None = None) -> Pinned:
    """The baseline that ``wanted`` means: a run's directory, or its name below ``root``.

    Parameters
    ----------
    sha256
        What its manifest's SHA-256 must begin with; None: whatever it is, unless an earlier
        re-evaluation was held against the same run with another one.

    Raises
    ------
    UsageError
        If there is no such run, or it is another campaign's.
    EvidenceError
        If it is not what its manifest says, or another manifest than was pinned.
    """
    folder = RunFolder(_found(root, campaign, wanted))
    where = f"--baseline {wanted}"
    refuse_changed(folder)
    run, digest = read_run(folder.path), manifest_sha256(folder)
    if run.plan.campaign != campaign:
        raise UsageError(
            where, f"it is a run of campaign {run.plan.campaign!r}, not of {campaign!r}", ""
        )
    if sha256 is not None and not digest.startswith(sha256.lower()):
        raise _another(where, digest, f"{sha256} was pinned")
    for earlier in runs_of(root, campaign):
        path = earlier / layout.BASELINE
        if not path.is_file():
            continue
        before = read_file(path, Baseline)
        if before.run == run.plan.run and before.manifest_sha256 != digest:
            raise _another(
                where,
                digest,
                f"{earlier.name} was held against {before.manifest_sha256[:12]}…",
            )
    return Pinned(run=run, manifest_sha256=digest)


def derived(
    file: Path,
    pin: Pinned,
    catalog: Catalog,
    folders: Sequence[Path],
    *,
    versions: Versions,
) -> Derived:
    """The campaign that measures the baseline's winner again beside today's candidates.

    ``latest-known``: the newest release of each runtime that the catalog knows and that can be
    launched as the candidate is stated; a candidate with an image of its own keeps it.
    ``pinned``: the release that the file states, else the one that the baseline measured.

    Raises
    ------
    CatalogError
        For a campaign file that cannot be used.
    ReportsError
        For a baseline that names nobody.
    """
    document: dict[str, Any] = copy.deepcopy(read_document(file).value)
    stated = load_campaign(file)
    asking = _Asking(campaign=stated, catalog=catalog, folders=folders, versions=versions)
    origin, control = origin_of(pin.run), _control(pin.run, folders)
    today: list[dict[str, Any]] = document["candidates"]
    measured = _versions_of(pin.run.plan)
    for entry, candidate in zip(today, stated.candidates, strict=True):
        release = _release(asking, candidate, measured)
        if release is not None:
            entry["version"] = release
    champion = next((entry for entry in today if entry["name"] == origin), None)
    if champion is not None:
        _take_prices(control, champion)
    if champion is not None and _configuration(control) == _configuration(champion):
        control = champion
    else:
        control["name"] = _free_name(origin, [str(entry["name"]) for entry in today])
        today.insert(0, control)
    document["incumbent"] = control["name"]
    text = _HEAD.format(file=file.name, run=pin.run.plan.run) + yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True
    )
    return Derived(
        text=text.encode(),
        campaign=_parsed(text, file),
        baseline=baseline_of(
            pin.run,
            manifest_sha256=pin.manifest_sha256,
            champion=None if champion is None else origin,
            control=str(control["name"]),
            versions=versions,
            campaign_sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        ),
    )


_HEAD: Final = "# Made by runoff reevaluate from {file}, held against the run {run}.\n"


def taken_up_again(file: Path, folder: RunFolder) -> Derived:
    """The campaign of a re-evaluation that was begun, as it lies in its run.

    Raises
    ------
    UsageError
        If the run re-evaluates nothing, or the user's file is another one by now.
    """
    where = f"--resume {folder.path.name}"
    path = folder.file(layout.BASELINE)
    if not path.is_file():
        raise UsageError(where, "it is no re-evaluation", "Resume it with runoff compare")
    baseline = read_file(path, Baseline)
    if hashlib.sha256(file.read_bytes()).hexdigest() != baseline.campaign_sha256:
        raise UsageError(
            where,
            f"{file} is not the file that this run was begun with",
            "Restore the file, or begin a new run",
        )
    text = folder.file(layout.CAMPAIGN).read_bytes()
    return Derived(text=text, campaign=_parsed(text.decode(), file), baseline=baseline)


def _found(root: Path, campaign: str, wanted: str) -> Path:
    for path in (root / campaign / wanted, Path(wanted)):
        if wanted and (path / layout.PLAN).is_file():
            return path.resolve()
    known = ", ".join(path.name for path in runs_of(root, campaign)[-3:])
    raise UsageError(
        f"--baseline {wanted}",
        f"there is no such run of campaign {campaign!r} in {root}",
        f"The last ones are {known}" if known else "Measure one with runoff compare",
    )


def _another(where: str, digest: str, seen: str) -> EvidenceError:
    return EvidenceError(
        where,
        f"its manifest is {digest[:12]}…, and {seen}",
        "A baseline does not change: restore it, or pin another run",
    )


def _control(run: Run, folders: Sequence[Path]) -> dict[str, Any]:
    """The winner as the baseline's own file states it, with the release that was measured."""
    document = read_document(run.folder.file(layout.CAMPAIGN)).value
    entries: Any = document["candidates"]
    winner = run.decision.winner
    entry = copy.deepcopy(next(each for each in entries if each["name"] == winner))
    facts = run.plan.candidate(str(winner))
    runtime = entry.get("runtime")
    if facts.version is not None and facts.runtime == runtime:
        entry["version"] = facts.version
    elif runtime is not None and entry.get("image") is None:  # it was rehearsed
        entry.setdefault("version", _newest(runtime, folders))
    return dict(entry)


def _versions_of(plan: RunPlan) -> Mapping[str, _Release]:
    return {each.name: (each.runtime, each.version) for each in plan.candidates}


def _release(
    asking: _Asking, candidate: Candidate, measured: Mapping[str, _Release]
) -> str | None:
    """The release that a candidate is to run; None: as the file has it.

    Every other one is stated, so that the run's own file says what runs.
    """
    if candidate.runtime is None or candidate.image is not None:
        return None
    if asking.versions == "pinned":
        runtime, version = measured.get(candidate.name, (None, None))
        known = version if runtime == candidate.runtime else None
        return candidate.version or known or _newest(candidate.runtime, asking.folders)
    for release in _newest_first(candidate, asking.folders):
        if _can_be_launched(asking, candidate, release):
            return release
    return candidate.version


def _newest(runtime: str, folders: Sequence[Path]) -> str:
    return load_runtime_folder(runtime, folders).newest


def _newest_first(candidate: Candidate, folders: Sequence[Path]) -> Iterator[str]:
    """The known releases down to the one that the file states."""
    known = load_runtime_folder(candidate.runtime or "", folders).capabilities.versions
    for each in reversed(known):
        yield each.version
        if each.version == candidate.version:
            return


def _can_be_launched(asking: _Asking, candidate: Candidate, release: str) -> bool:
    one = candidate.model_copy(update={"version": release})
    alone = asking.campaign.model_copy(update={"candidates": (one,)})
    try:
        planned(alone, asking.catalog, asking.folders)
    except CatalogError:
        return False
    return True


def _take_prices(control: dict[str, Any], today: Mapping[str, Any]) -> None:
    """Today's prices for the control: it is what runs, and costs what it costs now."""
    for place in ("", "assumptions"):
        ours = control if not place else dict(control.get(place) or {})
        theirs = today if not place else today.get(place) or {}
        for name in _PRICES:
            ours.pop(name, None)
            if name in theirs:
                ours[name] = theirs[name]
        if place and ours:
            control[place] = ours
        elif place:
            control.pop(place, None)


def _configuration(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "name"}


def _free_name(origin: str, taken: Sequence[str]) -> str:
    name, number = f"{origin}{BEHIND}", 2
    while name in taken:
        name, number = f"{origin}{BEHIND}-{number}", number + 1
    return name


def _parsed(text: str, file: Path) -> Campaign:
    """The campaign of a text; lengths in ``file:`` forms are found beside the user's file."""
    with tempfile.TemporaryDirectory(prefix="runoff-") as folder:
        path = Path(folder) / layout.CAMPAIGN
        path.write_text(text, encoding="utf-8")
        return load_campaign(path, beside=file.parent)
