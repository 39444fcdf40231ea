"""Where results go: checked before anything is measured, written whole or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from flows.errors import UsageError

STANDARD_OUTPUT: Final = "-"


def check_place(flag: str, place: str | Path | None) -> None:
    """Raise UsageError where a file could not be written after the measurement."""
    if place is None or (flag == "--json" and place == STANDARD_OUTPUT):
        return
    path = Path(place)
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(flag, f"there is no folder {folder}", "Make it, or choose another")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(flag, f"{path} cannot be written", "Choose another place")
    if path.exists() and not path.is_file():
        # a whole file is moved into its place, and would take a device's or a pipe's
        raise UsageError(flag, f"{path} is a device or a pipe", "Give the place of a file")


def check_apart(json_out: str | None, raw: Path | None) -> None:
    """Raise UsageError where one result would be written over the other."""
    if json_out is None or raw is None or json_out == STANDARD_OUTPUT:
        return
    if Path(json_out).resolve() == raw.resolve():
        raise UsageError("--raw", f"{raw} is the place of --json", "Choose another place")


def write_json(document: Mapping[str, Any], place: str | None) -> None:
    """Write strict JSON with sorted keys to a file, to standard output for ``-``."""
    if place is None:
        return
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"
    if place == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    write_whole(Path(place), text)


def write_whole(path: Path, text: str) -> None:
    """Write a text file atomically."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        seen = error.strerror or type(error).__name__
        raise UsageError(
            str(path), f"it cannot be written: {seen}", "Choose another place"
        ) from None
    finally:
        aside.unlink(missing_ok=True)
