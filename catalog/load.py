"""Files to values: one entry, one campaign, or a whole catalog with a user's overlays on it.

Entries are read when they are first asked for; a command pays only for what it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from catalog.complaints import complaint
from catalog.entries import OURS, Catalog, Entries, Offers
from catalog.errors import CatalogError
from catalog.folders import Folder, entry_files, open_folder
from catalog.schema import Campaign, Device, Link, Model, Offer, OfferFile
from catalog.schema.fields import Source
from catalog.yaml_nodes import (
    MAXIMUM_BYTES,
    Document,
    Value,
    place,
    read_document,
    read_text,
)

T = TypeVar("T", bound=BaseModel)
MAXIMUM_LENGTHS_BYTES = 8 * 1024 * 1024
_NAME = re.compile(
    rb"^name:[ \t]*(?P<quote>[\"']?)(?P<name>[^\s\"'#]+)(?P=quote)[ \t]*(?:#.*)?\r?$",
    re.MULTILINE,
)

__all__ = [
    "OURS",
    "Catalog",
    "load_campaign",
    "load_catalog",
    "load_file",
    "load_section",
    "located",
    "shipped_catalog",
]


def shipped_catalog() -> Path:
    """The folder of the catalog that comes with the package."""
    return Path(__file__).parent


def load_file(path: Path, model_type: type[T], context: Mapping[str, Any] | None = None) -> T:
    """The file's content as ``model_type``; its ``sources`` are known to its facts.

    Raises
    ------
    CatalogError
        With ``file:line``, what was seen and what to do, for every fault that is found.
    """
    return _validated(read_document(path), model_type, context)


def load_section(path: Path, key: str, model_type: type[T]) -> T:
    """As ``load_file``, for the mapping under one top-level key of the file."""
    return _validated(read_document(path).section(key), model_type, None)


def load_campaign(path: Path, *, beside: Path | None = None) -> Campaign:
    """The campaign of a file; lengths in ``file:`` forms are found ``beside``, else there."""
    folder = path.parent if beside is None else beside
    return load_file(
        path, Campaign, {"read_lengths": lambda name: _read_lengths(folder / name)}
    )


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Complaints about a value that the file states get the file and line where it stands."""
    try:
        yield
    except CatalogError as error:
        where = _stated_at(path, error.value)
        if where is None:
            raise
        raise CatalogError(f"{where}: {error.where}", error.seen, error.do) from None


def _stated_at(path: Path, text: str) -> str | None:
    """``file:line`` of the first value that reads ``text``; None where there is none."""
    try:
        document = read_document(path) if text else None
    except CatalogError:  # a pipe cannot be read again
        document = None
    if document is None:
        return None
    steps = next(_steps_to(document.value, text), None)
    return None if steps is None else document.where(steps)


def _steps_to(value: Value, text: str) -> Iterator[tuple[str | int, ...]]:
    if value == text:
        yield ()
    keyed: Iterable[tuple[str | int, Value]] = ()
    if isinstance(value, dict):
        keyed = value.items()
    elif isinstance(value, list):
        keyed = enumerate(value)
    for key, item in keyed:
        yield from ((key, *steps) for steps in _steps_to(item, text))


def load_catalog(folders: Sequence[Path] = ()) -> Catalog:
    """Our catalog with ``folders`` laid over it in order; a later entry of a name wins."""
    layers = [Folder(shipped_catalog(), OURS), *(open_folder(folder) for folder in folders)]
    return Catalog(
        devices=_entries("devices", layers, Device),
        links=_entries("links", layers, Link),
        models=_entries("models", layers, Model),
        offers=_offers(layers),
    )


def _validated(document: Document, model_type: type[T], context: Mapping[str, Any] | None) -> T:
    known = {"sources": _sources(document, model_type), **(context or {})}
    try:
        return model_type.model_validate(document.value, context=known)
    except ValidationError as error:
        raise complaint(document, error, model_type) from None


def _sources(document: Document, model_type: type[BaseModel]) -> dict[str, Source]:
    """The file's ``sources``, read first because every fact refers to one."""
    field = model_type.model_fields.get("sources")
    entries = document.value.get("sources")
    if field is None or field.annotation != dict[str, Source] or not isinstance(entries, dict):
        return {}
    sources = {}
    for key, entry in entries.items():
        try:
            sources[key] = Source.model_validate(entry)
        except ValidationError as error:
            raise complaint(document, error, Source, ("sources", key)) from None
    return sources


def _read_lengths(path: Path) -> tuple[int, ...]:
    """Whole numbers of tokens, one a line; blank lines are passed over."""
    lengths = []
    try:
        text = read_text(path, MAXIMUM_LENGTHS_BYTES)
    except CatalogError as error:
        raise ValueError(f"{error.where}: {error.seen}; {error.do}") from None
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit() and len(word) <= 9 and int(word) >= 1):
            raise ValueError(
                f"{place(path, number)}: {word[:40]!r} is not a length; "
                "put one whole number of tokens, at least 1, per line"
            )
        lengths.append(int(word))
    return tuple(lengths)


def _entries(subfolder: str, layers: Sequence[Folder], model_type: type[T]) -> Entries[T]:
    files: dict[str, tuple[Path, str]] = {}
    for layer in layers:
        names: dict[str, Path] = {}
        for stem, path in entry_files(layer.path / subfolder):
            name = _name_inside(path, stem)
            if name in names:
                raise CatalogError(
                    str(path), f"{names[name].name} is called {name!r} too", "Remove one"
                )
            names[name] = path
        files |= {name: (path, layer.origin) for name, path in names.items()}
    return Entries(files, lambda path: _named(path, model_type))


def _name_inside(path: Path, stem: str) -> str:
    """The name that an entry gives itself, found without parsing the file."""
    try:
        written = _NAME.search(path.read_bytes()[:MAXIMUM_BYTES])
    except OSError:
        written = None
    return written["name"].decode(errors="replace") if written else stem


def _named(path: Path, model_type: type[T]) -> T:
    """The entry in ``path``, which must know itself by the file's name.

    A model's checkpoint has a long name with a slash: there the file may bear an alias.
    """
    entry = load_file(path, model_type)
    name = str(getattr(entry, "name", ""))
    if path.stem not in (name, name.replace("/", "--"), *getattr(entry, "aliases", ())):
        raise CatalogError(
            read_document(path).where(["name"]),
            f"name {name!r} does not fit the file's name",
            f"Call the file {name.replace('/', '--')}.yaml, or the entry {path.stem!r}",
        )
    return entry


def _offers(layers: Sequence[Folder]) -> Offers:
    files: dict[str, list[tuple[Path, str]]] = {}
    for layer in layers:
        for stem, path in entry_files(layer.path / "offers"):
            files.setdefault(stem, []).append((path, layer.origin))
    return Offers(files, _cloud)


def _cloud(path: Path, cloud: str) -> Iterator[tuple[str, Offer]]:
    """The rows of one cloud's file under their names."""
    file = load_file(path, OfferFile, {"stated_in": "stated in the offer"})
    if file.cloud != cloud:
        raise CatalogError(
            read_document(path).where(["cloud"]),
            f"cloud {file.cloud!r} does not fit the file's name",
            f"Call the file {file.cloud}.yaml, or the cloud {cloud!r}",
        )
    seen: set[str] = set()
    for index, offer in enumerate(file.offers):
        if offer.name in seen:
            raise CatalogError(
                read_document(path).where(["offers", index, "name"]),
                f"offer {offer.name!r} stands in this file twice",
                "Give regions and commitments names of their own",
            )
        seen.add(offer.name)
        yield offer.name, offer
