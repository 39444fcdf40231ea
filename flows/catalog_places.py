"""Where in which file a finding lies, and campaigns of a catalog that cannot be read."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.folders import entry_files
from catalog.load import load_campaign, shipped_catalog
from catalog.sanity import Finding
from catalog.yaml_nodes import Document, Location, read_document
from deploy_templates.registry import CAPABILITIES, runtime_files


def place_of(finding: Finding, catalog: Catalog, folders: Sequence[Path]) -> str:
    """``file:line`` of the field that a finding names; empty if its file cannot be read."""
    if not finding.steps:
        return ""
    if finding.kind == "runtime":
        document = read_document(runtime_files(folders)[finding.name][0])
        return document.where((CAPABILITIES, *finding.steps))
    file = _file(finding, catalog)
    if file is None:
        return ""
    document = read_document(file)
    return document.where((*_row(finding, document), *finding.steps))


def is_old_price(finding: Finding) -> bool:
    """Whether it says that an offer's price is stale, and nothing else."""
    return (finding.kind, finding.steps, finding.severity) == ("offer", ("date",), "warning")


def old_prices(findings: Iterable[Finding], catalog: Catalog, today: dt.date) -> Iterator[str]:
    """A line for each file with stale prices: how many, which is the oldest, what to do."""
    by_file: defaultdict[Path | None, list[Finding]] = defaultdict(list)
    for finding in filter(is_old_price, findings):
        by_file[catalog.file("offer", finding.name)].append(finding)
    for file, found in by_file.items():
        count = f"{len(found)} stale price{'s' if len(found) > 1 else ''}"
        oldest = min(found, key=lambda each: catalog.offers[each.name].date or today)
        place = f"{file}: " if file is not None else ""
        yield (
            f"{place}warning: {count}, the oldest offer {oldest.name}: {oldest.seen}. "
            f"{oldest.do}"
        )


def _file(finding: Finding, catalog: Catalog) -> Path | None:
    if finding.kind == "offer":
        return catalog.file("offer", finding.name)
    if finding.kind == "device":
        return catalog.file("device", finding.name)
    return catalog.file("link" if finding.kind == "link" else "model", finding.name)


def _row(finding: Finding, document: Document) -> Location:
    """Where an offer's row stands in its cloud's file; other entries are their file."""
    rows = document.value.get("offers")
    if finding.kind != "offer" or not isinstance(rows, list):
        return ()
    name = finding.name.partition("/")[2]
    return next(
        (
            ("offers", number)
            for number, row in enumerate(rows)
            if isinstance(row, dict) and row.get("name") == name
        ),
        (),
    )


def unreadable_campaigns(folders: Sequence[Path]) -> list[CatalogError]:
    """A complaint for each campaign of ours and of ``folders`` that cannot be read."""
    complaints = []
    for folder in (shipped_catalog(), *folders):
        for _, path in entry_files(folder / "campaigns"):
            try:
                load_campaign(path)
            except CatalogError as error:
                complaints.append(error)
    return complaints
