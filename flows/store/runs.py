"""Runs by name: how a new one is called, and which one a ``--resume`` means."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from pathlib import Path
from typing import Final

from flows.errors import UsageError
from reports.run import layout

LATEST: Final = "latest"
FINGERPRINT_DIGITS: Final = 8
_TIME: Final = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")


def fingerprint8(campaign: bytes, catalog_digest: str, *, rehearsal: bool = False) -> str:
    """Eight digits of what a run asks: the campaign's file and the catalog's facts."""
    asked = hashlib.sha256(campaign)
    asked.update(f"\n{catalog_digest}\n{'rehearsal' if rehearsal else ''}".encode())
    return asked.hexdigest()[:FINGERPRINT_DIGITS]


def run_name(now: dt.datetime, fingerprint: str) -> str:
    """The name of a run that starts now; names in order of time are in order of text."""
    return f"{now.astimezone(dt.UTC):{_TIME}}-{fingerprint}"


def begun_at(name: str) -> dt.datetime:
    """When the run of this name was begun."""
    return dt.datetime.strptime(name.partition("-")[0], _TIME).replace(tzinfo=dt.UTC)


def find_run(root: Path, campaign: str, wanted: str) -> Path:
    """The run that ``wanted`` means: ``latest``, a run's name, or its directory.

    Raises
    ------
    UsageError
        If there is no such run, with those that there are.
    """
    there = runs_of(root, campaign)
    if wanted == LATEST and there:
        return there[-1]
    for path in (root / campaign / wanted, Path(wanted)):
        if wanted != LATEST and (path / layout.PLAN).is_file():
            return path
    known = ", ".join(path.name for path in there[-3:])
    raise UsageError(
        f"--resume {wanted}",
        f"there is no such run of campaign {campaign!r} in {root}",
        f"The last ones are {known}" if there else "None was started: leave --resume out",
    )


def runs_of(root: Path, campaign: str) -> tuple[Path, ...]:
    """The campaign's runs, oldest first; a folder without a plan never became one."""
    folder = root / campaign
    if not folder.is_dir():
        return ()
    return tuple(
        path
        for path in sorted(folder.iterdir())
        if _NAME.fullmatch(path.name) and (path / layout.PLAN).is_file()
    )
