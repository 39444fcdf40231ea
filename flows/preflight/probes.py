"""What a look before the start asks of the world, each as a function that tests replace."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flows.bench.endpoint import sibling_of
from flows.bench.http import get
from flows.errors import LaunchError, RunoffError
from flows.foreign_load import HostLoad, look
from flows.host_lock import Holder, holdings, lock_folder
from flows.launch.ports import require_free
from flows.load.plan import Endpoint
from flows.system.facts import SystemFacts

_ANSWER_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a service said to a request for its models.

    ``status`` is None where nobody answered; ``seen`` and ``do`` then say why. ``models`` are
    the names that it serves, None where it does not list them.
    """

    status: int | None
    seen: str = ""
    do: str = ""
    models: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """The world as preflight sees it.

    ``program`` is where a program is, None where it is not. ``room`` are free bytes for a
    file of that folder, ``disk`` which disk that is, ``kept`` bytes of the files below it.
    ``unwritable`` and ``taken`` say why a folder or a port cannot be used, None where it can.
    ``load`` looks for a second at who uses this machine; ``holder`` is who has it locked.
    """

    environment: Mapping[str, str]
    system: SystemFacts
    program: Callable[[str], str | None]
    exists: Callable[[str], bool]
    has_module: Callable[[str], bool]
    room: Callable[[Path], int | None]
    disk: Callable[[Path], int | None]
    kept: Callable[[Path], int]
    unwritable: Callable[[Path], str | None]
    taken: Callable[[str, int], tuple[str, str] | None]
    ask: Callable[[str, Mapping[str, str]], Reached]
    load: Callable[[], HostLoad | None]
    holder: Callable[[], Holder | None]


def real_probes(environment: Mapping[str, str], system: SystemFacts) -> Probes:
    """This machine, its disks and the services that it reaches."""
    return Probes(
        environment=environment,
        system=system,
        program=lambda name: shutil.which(name, path=environment.get("PATH")),
        exists=os.path.exists,
        has_module=lambda name: importlib.util.find_spec(name) is not None,
        room=room,
        disk=disk,
        kept=kept,
        unwritable=unwritable,
        taken=taken,
        ask=ask,
        load=look,
        holder=lambda: local_holder(environment),
    )


def room(folder: Path) -> int | None:
    """Bytes that this user may still write where the folder is or would be made."""
    try:
        return shutil.disk_usage(_standing(folder)).free
    except OSError:
        return None


def disk(folder: Path) -> int | None:
    """Which disk the folder is or would be on."""
    try:
        return _standing(folder).stat().st_dev
    except OSError:
        return None


def kept(folder: Path) -> int:
    """Bytes of all files below the folder; 0 where there is none."""
    return sum(
        (Path(where) / name).lstat().st_size
        for where, _, names in os.walk(folder)
        for name in names
    )


def unwritable(folder: Path) -> str | None:
    """Why no file can be made in the folder or, where it is missing, above it."""
    place = _standing(folder)
    if not place.is_dir():
        return f"{place} is no folder"
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return error.strerror or type(error).__name__


def taken(host: str, port: int) -> tuple[str, str] | None:
    """Who has the port and what to do; None where it is free."""
    try:
        require_free(host, port, "")
    except LaunchError as error:
        return error.seen, error.do
    return None


def ask(url: str, headers: Mapping[str, str]) -> Reached:
    """What the service at an API's address says when it is asked for its models."""
    try:
        endpoint = Endpoint(url=url, headers=dict(headers))
        answer = get(sibling_of(url, "models"), endpoint, _ANSWER_S)
    except RunoffError as error:
        return Reached(status=None, seen=error.seen, do=error.do)
    return Reached(status=answer.status, models=_models(answer.text))


def local_holder(environment: Mapping[str, str]) -> Holder | None:
    """The living process that has this machine locked for its campaign."""
    found = holdings(lock_folder(environment))
    return next((each for each in found if each.host == "local" and each.is_alive), None)


def _models(text: str) -> tuple[str, ...] | None:
    try:
        document: Any = json.loads(text)
        return tuple(str(entry["id"]) for entry in document["data"])
    except (ValueError, KeyError, TypeError):
        return None


def _standing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(
        each for each in (folder.absolute(), *folder.absolute().parents) if each.exists()
    )
