"""Replications of cells on the disk: whole with a ``cell.json`` that fits, else not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flows.store.disk import make_folder, place, settle, sha256_of
from reports.errors import ReportsError
from reports.run.cell_file import CellFile
from reports.run.layout import CellName, RunFolder
from reports.run.read import file_text, read_file

CELL_FILE: Final = "cell.json"


def is_whole(folder: RunFolder, cell: CellName, replication: int) -> bool:
    """Whether the replication's ``cell.json`` is there, is of it, and every hash fits."""
    path = folder.replication(cell, replication, CELL_FILE)
    if not path.is_file():
        return False
    try:
        file = read_file(path, CellFile)
    except ReportsError:
        return False
    named = (file.candidate, file.load_point, file.key, file.replication)
    if named != (cell.candidate, cell.load_point, cell.key, replication) or not file.files:
        return False
    return all(
        (path.parent / name).is_file() and sha256_of(path.parent / name) == digest
        for name, digest in file.files.items()
    )


def keep_files(
    folder: RunFolder, cell: CellName, replication: int, partial: Path, file: CellFile
) -> None:
    """Move a measured replication's files into their place; ``cell.json`` comes last."""
    made = sorted(path for path in partial.iterdir() if path.is_file())
    target = folder.cell(cell)
    drop_files(folder, cell, replication)
    make_folder(target)
    hashes = {}
    for path in made:
        settle(path)
        hashes[path.name] = sha256_of(path)
        path.replace(target / path.name)
    settle(target)
    text = file_text(file.model_copy(update={"files": hashes}))
    name = folder.replication(cell, replication, CELL_FILE)
    place(text.encode(), partial / name.name, name)


def drop_files(folder: RunFolder, cell: CellName, replication: int) -> bool:
    """Remove what there is of a replication, ``cell.json`` first; whether there was any."""
    found = sorted(folder.cell(cell).glob(f"{replication}.*"))
    found.sort(key=lambda path: not path.name.endswith(f".{CELL_FILE}"))
    for path in found:
        path.unlink()
        if path.name.endswith(f".{CELL_FILE}"):
            settle(path.parent)  # the rest may go only when nothing calls it whole any more
    return bool(found)


def half_written(folder: RunFolder) -> Iterator[tuple[CellName, int]]:
    """Every replication of which there are files, but that is not whole."""
    for path in sorted((folder.path / "cells").glob("*/")):
        cell = CellName.of(path.name)
        numbers = {entry.name.partition(".")[0] for entry in path.iterdir()}
        for number in sorted(numbers):
            if (
                cell is not None
                and number.isdigit()
                and not is_whole(folder, cell, int(number))
            ):
                yield cell, int(number)
