"""The history of all runs below a folder: pages, table, and what the next look needs."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reports.errors import ReportsError
from reports.history.facts import RunFacts
from reports.history.index import (
    INDEX,
    Index,
    KeptPage,
    by_campaign,
    digest_of,
    gather,
    known_index,
)
from reports.history.pages import (
    INDEX_PAGE,
    Link,
    Listed,
    campaign_page,
    expired,
    index_page,
    linked,
    page_name,
)
from reports.history.series import Series, all_series, with_changes, with_known_changes
from reports.history.table import parquet_bytes
from reports.history.words import change_lines
from reports.run.write import write_whole

TABLE: Final = "history.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was seen and made. ``read`` runs were new or changed, ``made`` pages as well.

    ``expired`` are signed runs that can be relied on no longer.
    """

    folder: Path
    runs: tuple[RunFacts, ...]
    read: int
    made: tuple[str, ...]
    changes: dict[str, tuple[str, ...]]
    expired: tuple[RunFacts, ...] = ()

    @property
    def index(self) -> Path:
        """The page to begin with."""
        return self.folder / INDEX_PAGE


def write_history(root: Path, out: Path, *, maker: str, today: dt.date) -> Written:
    """Write the history of every run below ``root`` into ``out``.

    Parameters
    ----------
    maker
        The version of runoff: what another version has made is made anew.
    today
        The day on which it is asked which signoffs have expired.

    Raises
    ------
    ReportsError
        For a file that cannot be written; a run that cannot be read is listed as such.
    """
    root, out = root.resolve(), out.resolve()
    _make(out)
    known = known_index(out, maker)
    gathered = gather(root, known)
    link = linked(Path(os.path.relpath(root, out)).as_posix())
    pages: dict[str, KeptPage] = {}
    listed: list[Listed] = []
    series: list[Series] = []
    made: list[str] = []
    changes: dict[str, tuple[str, ...]] = {}
    for name, runs in by_campaign(gathered.runs).items():
        kept, found, is_new = _page(out, name, runs, known, link, today=today)
        pages[name] = kept
        series.extend(found)
        changes[name] = change_lines(found)
        made += [page_name(name)] if is_new else []
        listed.append(_listed(name, runs, changes[name]))
    _forget(out, known, pages)
    others = [run for run in gathered.runs if run.campaign is None]
    write_whole(out / INDEX_PAGE, index_page(listed, others, root.name).encode())
    write_whole(out / TABLE, parquet_bytes(gathered.runs, series))
    index = Index(maker=maker, runs=gathered.indexed, pages=pages)
    write_whole(out / INDEX, index.text())
    return Written(
        folder=out,
        runs=gathered.runs,
        read=gathered.read,
        made=tuple(made),
        changes=changes,
        expired=expired(gathered.runs, today),
    )


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportsError(
            str(out), f"cannot be made: {error.strerror}", "Choose another place with --out"
        ) from error


def _page(
    out: Path,
    name: str,
    runs: Sequence[RunFacts],
    known: Index,
    link: Link,
    *,
    today: dt.date,
) -> tuple[KeptPage, tuple[Series, ...], bool]:
    """The campaign's page as it lies there, made anew only where something changed."""
    concluded = [run for run in runs if run.state == "concluded"]
    series = all_series(concluded)
    over = (run.path for run in expired(concluded, today))
    made_from = digest_of(runs, known.maker, *(link(run) for run in runs), *over)
    before = known.pages.get(name)
    path = out / page_name(name)
    if before is not None and before.made_from == made_from and _sha256(path) == before.sha256:
        found = tuple(with_known_changes(each, before.changes) for each in series)
        return before, found, False
    found = tuple(with_changes(each) for each in series)
    text = campaign_page(name, runs, found, link, today=today).encode()
    write_whole(path, text)
    kept = KeptPage(
        made_from=made_from,
        sha256=hashlib.sha256(text).hexdigest(),
        changes={each.key.id: each.changes for each in found if each.changes is not None},
    )
    return kept, found, True


def _listed(name: str, runs: Sequence[RunFacts], changes: tuple[str, ...]) -> Listed:
    concluded = [run for run in runs if run.state == "concluded"]
    return Listed(
        name=name,
        href=page_name(name),
        runs=tuple(runs),
        last=(concluded or list(runs))[-1],
        changes=changes,
    )


def _forget(out: Path, known: Index, pages: dict[str, KeptPage]) -> None:
    """Take away pages of campaigns that are gone, if they are still as they were made."""
    for name in known.pages.keys() - pages.keys():
        path = out / page_name(name)
        if _sha256(path) == known.pages[name].sha256:
            path.unlink()


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
