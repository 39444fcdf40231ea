"""What an earlier look has seen, so that runs which have not changed are not read again."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from reports.history.facts import RunFacts
from reports.history.find import mark_of, run_folders
from reports.history.read import facts_of
from reports.history.series import Change
from reports.run.number import Frozen

INDEX: Final = "history.index.json"


class Indexed(Frozen):
    """A run's facts, and the mark that it had when they were read."""

    mark: str
    facts: RunFacts


class KeptPage(Frozen):
    """A campaign's page: what it was made from, its bytes, the changes found, by series."""

    made_from: str
    sha256: str
    changes: dict[str, tuple[Change, ...]] = Field(default_factory=dict)


class Index(Frozen):
    """``history.index.json``. Another release's is not used: it may read runs otherwise."""

    schema_version: Literal[1] = 1
    maker: str
    runs: dict[str, Indexed] = Field(default_factory=dict)
    pages: dict[str, KeptPage] = Field(default_factory=dict)

    def text(self) -> bytes:
        """The file: compact, the same bytes every time."""
        return self.model_dump_json(exclude_defaults=True).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """All runs below a folder in order of time, and how many of them had to be read."""

    runs: tuple[RunFacts, ...]
    indexed: dict[str, Indexed]
    read: int


def known_index(folder: Path, maker: str) -> Index:
    """The index that lies there; an empty one where it is absent, damaged or another's."""
    try:
        found = Index.model_validate_json((folder / INDEX).read_bytes())
    except (OSError, ValidationError):
        return Index(maker=maker)
    return found if found.maker == maker else Index(maker=maker)


def gather(root: Path, known: Index) -> Gathered:
    """The facts of every run below a folder; only new and changed ones are read."""
    indexed: dict[str, Indexed] = {}
    read = 0
    for folder in run_folders(root):
        path = folder.relative_to(root).as_posix()
        mark = mark_of(folder)  # before the reading: a change meanwhile is seen next time
        before = known.runs.get(path)
        if before is None or before.mark != mark:
            read += 1
            before = Indexed(mark=mark, facts=facts_of(folder, path))
        indexed[path] = before
    runs = sorted((each.facts for each in indexed.values()), key=lambda facts: facts.order)
    return Gathered(runs=_once(runs), indexed=indexed, read=read)


def by_campaign(runs: Sequence[RunFacts]) -> dict[str, tuple[RunFacts, ...]]:
    """Runs whose plan could be read, by their campaign, in order of its name."""
    found: dict[str, list[RunFacts]] = defaultdict(list)
    for run in runs:
        if run.campaign is not None:
            found[run.campaign].append(run)
    return {name: tuple(found[name]) for name in sorted(found)}


def digest_of(runs: Sequence[RunFacts], *more: str) -> str:
    """SHA-256 of all that a campaign's page is made from."""
    made = hashlib.sha256("\n".join(more).encode())
    for run in runs:
        made.update(run.model_dump_json().encode())
    return made.hexdigest()


def _once(runs: Sequence[RunFacts]) -> tuple[RunFacts, ...]:
    """Runs with the copies of one marked as such: a second one would be no evidence."""
    first: dict[tuple[str | None, str | None, str], str] = {}
    found = []
    for run in runs:
        here = run
        if run.state == "concluded" and run.manifest_sha256 is not None:
            same = first.setdefault((run.campaign, run.run, run.manifest_sha256), run.path)
            if same != run.path:
                update = {"state": "copy", "why": f"the same as {same}", "candidates": ()}
                here = run.model_copy(update=update)
        found.append(here)
    return tuple(found)
