"""The small files of a run as values: all evidence but the request records themselves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reports.errors import ReportsError
from reports.records import identities
from reports.run import layout
from reports.run.host_file import HostFile
from reports.run.layout import RunFolder
from reports.run.plan_file import RunPlan
from reports.run.read import Measured, Run
from reports.telemetry.production import FOLDER

Ledger = tuple[Mapping[str, Any], ...]
_EARLIER: Final = "earlier-"  # what a launch left that another of its replication followed
_SEARCH: Final = "search-"  # load points of a rate search, which prove nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """One complete replication of a cell: its files' accounts, read.

    ``strays`` are those of its files that are gone, are not what they were when measured, or
    say that they are another replication's.
    """

    measured: Measured
    account: Mapping[str, Any]
    server: Mapping[str, Any]
    has_telemetry: bool
    strays: tuple[str, ...] = ()

    @property
    def candidate(self) -> str:
        """The candidate that was measured."""
        return self.measured.file.candidate

    @property
    def load_point(self) -> str:
        """The load that it was measured at."""
        return self.measured.file.load_point

    @property
    def number(self) -> int:
        """The replication's number, from 0."""
        return self.measured.file.replication


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of a candidate as its own record has it; several per replication: replicas.

    An ``is_earlier`` one was followed by another of the same replication; one that
    ``is_production`` repeated it at the clocks of production.
    """

    candidate: str
    replication: int
    is_earlier: bool = False
    is_production: bool = False
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A run without its request records. ``campaign_sha256`` is of the file as it is now.

    Cells of a rate search are left out: they only say where to look.
    """

    plan: RunPlan
    replications: tuple[Replication, ...]
    launches: tuple[Launch, ...]
    hosts: tuple[HostFile, ...]
    ledger: Ledger
    quality: Mapping[str, Mapping[str, Any]]
    campaign_sha256: str | None

    def of(self, candidate: str) -> tuple[Replication, ...]:
        """The replications of a candidate, by load point and number."""
        return tuple(each for each in self.replications if each.candidate == candidate)

    def events(self, event: str, **facts: Any) -> Ledger:
        """The ledger's lines of that event whose facts are these."""
        return tuple(
            line
            for line in self.ledger
            if line.get("event") == event
            and all(line.get(name) == value for name, value in facts.items())
        )


def gathered(run: Run) -> Gathered:
    """Read all small files of a run.

    Raises
    ------
    ReportsError
        For a file that is missing or holds no JSON object.
    """
    campaign = run.folder.file(layout.CAMPAIGN)
    return Gathered(
        plan=run.plan,
        replications=tuple(
            _replication(run.plan.run, measured)
            for measured in run.cells
            if not measured.file.load_point.startswith(_SEARCH)
        ),
        launches=_launches(run.folder),
        hosts=run.hosts,
        ledger=run.ledger,
        quality=_quality(run),
        campaign_sha256=_sha256(campaign) if campaign.is_file() else None,
    )


def _quality(run: Run) -> Mapping[str, Mapping[str, Any]]:
    """The quality records, judged again from what was answered."""
    paths = sorted((run.folder.path / "quality").glob("*.json"))
    if not paths:
        return {}
    from reports.quality.again import judged_again  # noqa: PLC0415 - statistics take a second

    asked = run.plan.contract.quality
    return {path.stem: judged_again(path, asked) for path in paths}


def _replication(run: str, measured: Measured) -> Replication:
    account, server = _object(measured.client), _object(measured.server)
    return Replication(
        measured=measured,
        account=account,
        server=server,
        has_telemetry=any("telemetry" in name for name in measured.file.files),
        strays=_changed(measured) or _foreign(run, measured, account, server),
    )


def _changed(measured: Measured) -> tuple[str, ...]:
    return tuple(
        name
        for name, digest in sorted(measured.file.files.items())
        if not (path := measured.records.with_name(name)).is_file() or _sha256(path) != digest
    )


def _foreign(run: str, measured: Measured, *accounts: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that say themselves that they were written for another replication."""
    file = measured.file
    who = {
        "run": run,
        "cell": measured.name.folder,
        "replication": file.replication,
        "launch": file.launch,
    }
    written = {measured.records.name: identities(measured.records)}
    for path, account in zip((measured.client, measured.server), accounts, strict=True):
        written[path.name] = {n: frozenset({account[n]}) for n in who if n in account}
    return tuple(
        name
        for name, found in written.items()
        if any(values - {who[column]} for column, values in found.items())
    )


def _launches(folder: RunFolder) -> tuple[Launch, ...]:
    """Records below ``launch/<candidate>/<replication>``; a replica has a folder of its own."""
    root = folder.path / "launch"
    found = [
        Launch(
            candidate=path.relative_to(root).parts[0],
            replication=int(path.relative_to(root).parts[1]),
            is_earlier=any(
                part.startswith(_EARLIER) for part in path.relative_to(root).parts[2:-1]
            ),
            is_production=FOLDER in path.relative_to(root).parts[2:-1],
            document=_object(path),
        )
        for path in sorted(root.glob("*/*/**/launch.json"))
        if path.relative_to(root).parts[1].isdigit()
    ]
    return tuple(sorted(found, key=lambda each: (each.candidate, each.replication)))


def _object(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ReportsError(
            str(path), f"cannot be read: {error.strerror}", "Restore the file"
        ) from error
    except ValueError as error:
        raise ReportsError(str(path), f"is no JSON: {error}", "Restore the file") from error
    if not isinstance(document, dict):
        raise ReportsError(str(path), "holds no JSON object", "Restore the file")
    return document


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
