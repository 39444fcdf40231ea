"""Where a campaign's ``store`` is: a folder here, or a bucket with a folder here before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.store import S3
from flows.s3 import Bucket, S3Place
from flows.store.facts_there import fetch_facts
from flows.store.mirror import Mirror, Objects, newest_run
from flows.store.runs import LATEST, runs_of
from reports.run import layout
from reports.run.layout import RunFolder

_STORES: Final = "stores"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """``root`` is where runs are written; ``bucket`` where they are copied to, if anywhere."""

    root: Path
    bucket: S3Place | None = None
    objects: Objects | None = None

    @property
    def name(self) -> str:
        """The place as the campaign file states it."""
        return str(self.root) if self.bucket is None else self.bucket.url

    def require_reachable(self) -> None:
        """Return if what lies there can be listed; InfrastructureError else."""
        if self.bucket is not None and self.objects is not None:
            next(iter(self.objects.keys(self.bucket.key())), None)

    def mirror(self, campaign: str, run: str) -> Mirror | None:
        """What copies a run; None where runs stay here."""
        if self.bucket is None or self.objects is None:
            return None
        folder = RunFolder(self.root / campaign / run)
        return Mirror(folder, self.objects, self.bucket.key(campaign, run))

    def bring(self, campaign: str, wanted: str) -> str:
        """Fetch the run that a ``--resume`` means if its copy is further; the run's name."""
        if self.bucket is None or self.objects is None:
            return wanted
        run = wanted.removeprefix(f"{self.name}/{campaign}/")
        if Path(wanted).resolve().parent == (self.root / campaign).resolve():
            run = Path(wanted).name
        if wanted == LATEST:
            here = runs_of(self.root, campaign)
            there = newest_run(self.objects, self.bucket.key(campaign))
            run = max(
                [path.name for path in here[-1:]] + ([there] if there else []), default=""
            )
        mirror = self.mirror(campaign, run) if run and "/" not in run else None
        if mirror is not None:
            mirror.fetch()
        return run or wanted


def fetched_facts(url: str, cache: Path, environment: Mapping[str, str]) -> Path:
    """A folder with what a history reads of every run there: new and changed files fetched.

    Raises
    ------
    InfrastructureError
        Where something cannot be fetched; what was fetched before stays.
    """
    place = S3Place.of(url)
    folder = cache / "history" / "~".join((place.bucket, *place.prefix.split("/")))
    folder.mkdir(parents=True, exist_ok=True)
    objects = Bucket(place.bucket, environment)
    fetch_facts(objects, place.prefix, folder)
    return folder


def copy_again(folder: RunFolder, state: Path, environment: Mapping[str, str]) -> str | None:
    """Copy what is new in a concluded run that lies before a bucket; where to, if to any."""
    found = _copy_of(folder, state, environment)
    if found is None:
        return None
    mirror, url = found
    mirror.complete()
    return url


def fetch_again(folder: RunFolder, state: Path, environment: Mapping[str, str]) -> bool:
    """Bring what was done elsewhere to a run that lies before a bucket; whether it went on."""
    found = _copy_of(folder, state, environment)
    return found is not None and found[0].fetch()


def _copy_of(
    folder: RunFolder, state: Path, environment: Mapping[str, str]
) -> tuple[Mirror, str] | None:
    """What copies the run in this folder, and where to; None where it lies before no bucket."""
    stores, path = (state / _STORES).resolve(), folder.path.resolve()
    parts = path.relative_to(stores).parts if path.is_relative_to(stores) else ()
    if len(parts) < 3:
        return None
    *place, campaign, run = parts
    url = S3 + "/".join(place)
    mirror = store_place(url, state, environment).mirror(campaign, run)
    return None if mirror is None else (mirror, f"{url}/{campaign}/{run}")


def ledgers_here(state: Path) -> Iterator[Path]:
    """The ledger of every run on this machine that is copied to a bucket."""
    return (state / _STORES).rglob(layout.LEDGER)


def store_place(stated: str, state: Path, environment: Mapping[str, str]) -> StorePlace:
    """The place of a campaign's ``store``; UsageError for one that names no bucket."""
    if not stated.startswith(S3):
        return StorePlace(root=Path(stated))
    place = S3Place.of(stated)
    root = state / _STORES / place.bucket
    if place.prefix:
        root /= place.prefix
    return StorePlace(root=root, bucket=place, objects=Bucket(place.bucket, environment))
