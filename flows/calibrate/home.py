"""Where calibrations are kept between campaigns, by the fingerprint of what they are of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from catalog.calibration.file import CalibrationFile, calibration_text, read_calibration
from catalog.errors import CatalogError
from flows.errors import InfrastructureError

FOLDER: Final = "calibrations"
_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


def keep(state: Path, file: CalibrationFile) -> Path:
    """Store a calibration in the place of an older one of the same host and fingerprint."""
    folder = state / FOLDER
    path = folder / f"{_PLAIN.sub('-', file.host)}--{file.fingerprint[:16]}.json"
    aside = path.with_name(f".{path.name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside.write_text(calibration_text(file), encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise InfrastructureError(
            str(path), f"cannot be written: {error.strerror}", "Make room, or set RUNOFF_HOME"
        ) from None
    return path


def kept(state: Path, host: str) -> tuple[CalibrationFile, ...]:
    """All calibrations of a host of this name, newest first; broken files are passed over."""
    found = [file for file in _all(state) if file.host == host]
    return tuple(sorted(found, key=lambda file: file.measured_at, reverse=True))


def _all(state: Path) -> Iterator[CalibrationFile]:
    for path in sorted((state / FOLDER).glob("*.json")):
        try:
            yield read_calibration(path)
        except CatalogError:
            continue
