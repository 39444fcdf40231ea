"""Tables of what the catalog holds: kinds, entries of a kind, facts of an entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalog.complaints import did_you_mean
from catalog.entries import OURS, Catalog, Kind
from catalog.errors import CatalogError
from catalog.listing import Entry, facts, summary
from catalog.load import load_catalog
from deploy_templates.registry import load_runtimes, runtime_files
from reports.tables import Cell, Column, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """All entries of one kind, with where each comes from."""

    kind: str
    entries: Mapping[str, Entry]
    origin: Callable[[str], str]
    file: Callable[[str], Path | None]

    def find(self, name: str) -> str:
        """The entry's name; a model is found by its aliases too.

        Raises
        ------
        CatalogError
            With the nearest name, if there is no such entry.
        """
        if name in self.entries:
            return name
        for known, entry in self.entries.items():
            if name in getattr(entry, "aliases", ()):
                return known
        seen = f"there is no {self.kind.removesuffix('s')} of this name"
        raise CatalogError(f"{self.kind} {name!r}", seen, did_you_mean(name, self.entries))

    def entry_json(self, name: str) -> dict[str, Any]:
        """Name, origin and file of one entry."""
        return {"kind": self.kind, "name": name, "origin": self.origin(name)} | {
            "file": str(self.file(name))
        }

    def to_json(self) -> list[dict[str, Any]]:
        """Name, origin, file and summary of every entry."""
        return [
            self.entry_json(name) | {"summary": summary(entry)}
            for name, entry in self.entries.items()
        ]


def shelves(folders: Sequence[Path]) -> tuple[Shelf, ...]:
    """The catalog by kind, the user's ``folders`` laid over ours."""
    catalog = load_catalog(folders)
    files = runtime_files(folders)
    return (
        _shelf(catalog, "device", catalog.devices),
        _shelf(catalog, "link", catalog.links),
        _shelf(catalog, "model", catalog.models),
        _shelf(catalog, "offer", catalog.offers),
        Shelf(
            kind="runtimes",
            entries=load_runtimes(folders),
            origin=lambda name: files[name][1],
            file=lambda name: files[name][0],
        ),
    )


def _shelf(catalog: Catalog, kind: Kind, entries: Mapping[str, Entry]) -> Shelf:
    return Shelf(
        kind=f"{kind}s",
        entries=entries,
        origin=lambda name: catalog.origin(kind, name),
        file=lambda name: catalog.file(kind, name),
    )


def shelves_table(held: Sequence[Shelf]) -> Table:
    """Kinds with the number of their entries, and how many of these are a user's."""
    rows = []
    for shelf in held:
        theirs = sum(shelf.origin(name) != OURS for name in shelf.entries)
        rows.append(
            (
                Cell(text=shelf.kind),
                Cell(text=str(len(shelf.entries))),
                Cell(text=str(theirs), meaning="" if theirs else "none"),
            )
        )
    columns = (
        Column(title="kind"),
        Column(title="entries", right=True),
        Column(title="yours", right=True),
    )
    return Table(title="The catalog", columns=columns, rows=tuple(rows))


def kind_table(shelf: Shelf) -> Table:
    """One line per entry of a kind."""
    lines = {name: summary(entry) for name, entry in shelf.entries.items()}
    headings = next(iter(lines.values()), {}).keys()
    rows = tuple(
        (Cell(text=name), *(_cell(text) for text in line.values()), _whose(shelf, name))
        for name, line in lines.items()
    )
    titles = ("name", *headings, "from")
    columns = tuple(Column(title=title) for title in titles)
    return Table(title=f"{len(rows)} {shelf.kind}", columns=columns, rows=rows)


def entry_table(shelf: Shelf, name: str) -> Table:
    """Every fact of one entry with its basis, source and date."""
    rows = tuple(
        (
            Cell(text=fact.field),
            Cell(text=fact.value),
            Cell(text=fact.basis),
            _cell(fact.source),
            Cell(text=fact.date),
        )
        for fact in facts(shelf.entries[name])
    )
    columns = tuple(
        Column(title=title) for title in ("field", "value", "basis", "source", "date")
    )
    title = f"{name}, from {shelf.origin(name)} ({shelf.file(name)})"
    return Table(title=title, columns=columns, rows=rows)


def _whose(shelf: Shelf, name: str) -> Cell:
    origin = shelf.origin(name)
    return Cell(text=origin, meaning="none" if origin == OURS else "")


def _cell(text: str) -> Cell:
    if text == "unknown":
        return Cell(text=text, meaning="none")
    return Cell(text=text, meaning="warn" if "unverified" in text else "")
