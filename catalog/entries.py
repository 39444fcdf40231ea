"""The catalog in memory: entries by name, whose each one is, and where it was read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Literal, TypeVar

from catalog.calibration.rates import MeasuredRates
from catalog.complaints import did_you_mean
from catalog.errors import CatalogError
from catalog.schema import Device, Link, Model, Offer

OURS = "runoff"
CALIBRATED = "a calibration"
Kind = Literal["device", "link", "model", "offer"]
T = TypeVar("T")


class Entries(Mapping[str, T], Generic[T]):
    """Entries of one kind, each read and checked when it is first asked for."""

    def __init__(
        self,
        files: Mapping[str, tuple[Path, str]],
        read: Callable[[Path], T],
    ) -> None:
        self._files = files
        self._read = read
        self._cache: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._cache:
            self._cache[name] = self._read(self._files[name][0])
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def origin(self, name: str) -> str:
        """``runoff``, or the user's folder that the entry comes from."""
        return self._files[name][1]

    def file(self, name: str) -> Path:
        """The file that holds the entry."""
        return self._files[name][0]


class Offers(Mapping[str, Offer]):
    """Offers under ``cloud/name``; a cloud's files are read when it is first asked for."""

    def __init__(
        self,
        files: Mapping[str, list[tuple[Path, str]]],
        read: Callable[[Path, str], Iterable[tuple[str, Offer]]],
    ) -> None:
        self._files = files
        self._read = read
        self._clouds: dict[str, dict[str, tuple[Offer, Path, str]]] = {}

    def __getitem__(self, name: str) -> Offer:
        return self._row(name)[0]

    def __iter__(self) -> Iterator[str]:
        for cloud in self._files:
            yield from self._cloud(cloud)

    def __len__(self) -> int:
        return sum(len(self._cloud(cloud)) for cloud in self._files)

    def origin(self, name: str) -> str:
        """``runoff``, or the user's folder that the offer comes from."""
        return self._row(name)[2]

    def file(self, name: str) -> Path:
        """The file that holds the offer."""
        return self._row(name)[1]

    def clouds(self) -> Iterable[str]:
        """Names of the clouds' files; nothing is read for them."""
        return self._files.keys()

    def of_cloud(self, cloud: str) -> dict[str, Offer]:
        """One cloud's offers under ``cloud/name``."""
        return {name: row[0] for name, row in self._cloud(cloud).items()}

    def _row(self, name: str) -> tuple[Offer, Path, str]:
        return self._cloud(name.partition("/")[0])[name]

    def _cloud(self, cloud: str) -> dict[str, tuple[Offer, Path, str]]:
        if cloud not in self._clouds:
            self._clouds[cloud] = {
                f"{cloud}/{name}": (offer, path, origin)
                for path, origin in self._files.get(cloud, ())
                for name, offer in self._read(path, cloud)
            }
        return self._clouds[cloud]


class _Beside(Mapping[str, T], Generic[T]):
    """Entries with some more that are in no file: what a host's calibration says of it."""

    def __init__(self, entries: Mapping[str, T], more: Mapping[str, T], origin: str) -> None:
        self.entries = entries
        self._more = more
        self._origin = origin

    def __getitem__(self, name: str) -> T:
        return self._more[name] if name in self._more else self.entries[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.entries
        yield from (name for name in self._more if name not in self.entries)

    def __len__(self) -> int:
        return len(set(self.entries) | set(self._more))

    def __contains__(self, name: object) -> bool:
        return name in self._more or name in self.entries

    def origin(self, name: str) -> str:
        """``a calibration`` for those that are in no file, else the entries' own."""
        if name in self._more:
            return self._origin
        return self.entries.origin(name) if isinstance(self.entries, Entries) else OURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that is known before a machine starts; plain dicts serve as well.

    ``measured`` are rates of candidates' hosts, by candidate, where they were calibrated.
    """

    devices: Mapping[str, Device]
    links: Mapping[str, Link]
    models: Mapping[str, Model]
    offers: Mapping[str, Offer]
    measured: Mapping[str, MeasuredRates] = field(default_factory=dict)

    def with_measured(self, measured: Mapping[str, MeasuredRates]) -> Catalog:
        """The same with measured rates, whose hosts are devices of their own names."""
        own = {each.device.name: each.device for each in measured.values()}
        return replace(
            self,
            devices=_Beside(self.devices, own, CALIBRATED),
            measured={**self.measured, **measured},
        )

    def without_measured(self) -> Catalog:
        """The same by its entries alone: no calibration of a host stands beside them."""
        return replace(self, measured={})

    def device(self, name: str) -> Device:
        """The device of this name; CatalogError with the nearest name if there is none."""
        return _found("device", self.devices, name)

    def link(self, name: str) -> Link:
        """The link of this name; CatalogError with the nearest name if there is none."""
        return _found("link", self.links, name)

    def offer(self, name: str) -> Offer:
        """The offer ``cloud/name``; CatalogError with the nearest name if there is none."""
        return _found("offer", self.offers, name)

    def model(self, name: str) -> Model:
        """The model with this name, alias or checkpoint; CatalogError if there is none."""
        if name in self.models:
            return self.models[name]
        for model in self.models.values():
            if name in model.aliases or any(name == each.name for each in model.checkpoints):
                return model
        return _found("model", self.models, name)

    def origin(self, kind: Kind, name: str) -> str:
        """``runoff`` for an entry of ours, else the user's folder that it comes from."""
        entries = self._of(kind)
        return entries.origin(name) if isinstance(entries, Entries | Offers | _Beside) else OURS

    def file(self, kind: Kind, name: str) -> Path | None:
        """The file that holds an entry; None for entries that were made in memory."""
        entries = self._of(kind)
        if isinstance(entries, _Beside) and entries.origin(name) != CALIBRATED:
            entries = entries.entries
        return entries.file(name) if isinstance(entries, Entries | Offers) else None

    def _of(self, kind: Kind) -> Mapping[str, object]:
        kinds: dict[Kind, Mapping[str, object]] = {
            "device": self.devices,
            "link": self.links,
            "model": self.models,
            "offer": self.offers,
        }
        return kinds[kind]


def _found(kind: str, entries: Mapping[str, T], name: str) -> T:
    if name not in entries:
        raise CatalogError(
            f"{kind} {name!r}",
            f"the catalog has no {kind} of this name",
            did_you_mean(name, entries),
            value=name,
        )
    return entries[name]
