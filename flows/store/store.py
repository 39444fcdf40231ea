"""One run directory being written, by one process at a time."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from threading import get_ident
from types import TracebackType
from typing import Any, Self

from flows.errors import InfrastructureError, UsageError
from flows.folder_lock import hold
from flows.store.cells import drop_files, half_written, is_whole, keep_files
from flows.store.disk import make_folder, place, told
from flows.store.ledger import Ledger
from reports.run import layout
from reports.run.cell_file import CellFile
from reports.run.layout import CellName, RunFolder

Clock = Callable[[], dt.datetime]


def _nobody() -> None:
    """Called where nobody follows the run."""


def _utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Store:
    """One run directory being written; the kernel frees its lock when the writer dies.

    What is being written lies under ``.partial/`` until it is whole, so a process that is
    killed leaves nothing half under a name that anybody reads.
    """

    def __init__(self, path: Path, now: Clock) -> None:
        self.folder = RunFolder(path)
        self._now = now
        self._lock = _locked(path)
        self._tell: Callable[[], None] = _nobody
        self._ledger = Ledger(self.folder.file(layout.LEDGER))

    @classmethod
    def create(cls, root: Path, campaign: str, run: str, *, now: Clock = _utc_now) -> Store:
        """A new run's directory, ``<root>/<campaign>/<run>``, locked for this process.

        Raises
        ------
        UsageError
            If a run of that name is there already.
        """
        path = root / campaign / run
        with told(path):
            make_folder(path.parent)
            try:
                path.mkdir()
            except FileExistsError:
                raise UsageError(
                    str(path), "a run of that name exists", "Continue it with --resume"
                ) from None
            make_folder(path / layout.PARTIAL)
        return cls(path, now)

    @classmethod
    def open(cls, path: Path, *, now: Clock = _utc_now) -> Store:
        """A run's directory to go on with; UsageError where it holds no plan of one.

        Raises
        ------
        InfrastructureError
            If another process writes it.
        """
        if not (path / layout.PLAN).is_file():
            raise UsageError(
                str(path), f"it holds no {layout.PLAN}", "Give the directory of a run"
            )
        return cls(path, now)

    def write(self, name: str, text: str) -> None:
        """Write a file of the run (``hosts/local/system.json``): whole, or not at all."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """As ``write``, for content that is no text."""
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise ValueError(f"{name!r} is no name inside a run directory")
        path = self.folder.path.joinpath(*parts)
        aside = self.folder.path / layout.PARTIAL / f"{'~'.join(parts)}.{get_ident()}"
        with told(path):
            place(content, aside, path)

    def record(self, event: str, **facts: Any) -> None:
        """Append to the ledger and return when it is on the disk: before acting, not after."""
        self._ledger.append(self._now(), event, facts)

    def is_complete(self, cell: CellName, replication: int) -> bool:
        """Whether the replication was kept whole and its files still are what they were."""
        return is_whole(self.folder, cell, replication)

    def partial(self, cell: CellName, replication: int) -> Path:
        """A fresh empty folder to measure a replication into; nobody reads it as evidence."""
        path = self.folder.path / layout.PARTIAL / cell.folder / str(replication)
        with told(path):
            if path.exists():
                shutil.rmtree(path)
            path.mkdir(parents=True)
        return path

    def keep(self, cell: CellName, replication: int, partial: Path, file: CellFile) -> None:
        """Make a measured replication evidence: its files first, ``cell.json`` last.

        ``file.files`` is filled in: the SHA-256 of every file in ``partial``, by name.
        """
        if self.is_complete(cell, replication):
            raise ValueError(f"{cell.folder}/{replication} is kept already")
        with told(self.folder.cell(cell)):
            keep_files(self.folder, cell, replication, partial, file)
            shutil.rmtree(partial)
        self._tell()

    def tell(self, somebody: Callable[[], None]) -> None:
        """Call ``somebody`` after each replication that is kept, in the keeping thread."""
        self._tell = somebody

    def discard_partials(self) -> tuple[str, ...]:
        """Remove what an earlier writer left half; its names, as ``<cell>/<replication>``."""
        aside = self.folder.path / layout.PARTIAL
        discarded = {
            f"{path.parent.name}/{path.name}"
            for path in aside.glob("*/*/")
            if CellName.of(path.parent.name) is not None
        }
        with told(aside):
            if aside.exists():
                shutil.rmtree(aside)
            make_folder(aside)
            for cell, replication in tuple(half_written(self.folder)):
                drop_files(self.folder, cell, replication)
                discarded.add(f"{cell.folder}/{replication}")
        return tuple(sorted(discarded))

    def close(self) -> None:
        """Let another process write the run."""
        self._ledger.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _locked(path: Path) -> int:
    """The directory itself is the lock; the descriptor that holds it."""
    with told(path):
        descriptor = hold(path)
    if descriptor is None:
        raise InfrastructureError(
            str(path), "another process writes this run", "Wait for its end, or stop it"
        )
    return descriptor
