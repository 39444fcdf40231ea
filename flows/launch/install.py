"""A runtime's pinned release on this machine, by the plan's own script, once per script."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.bench.places import write_whole
from flows.errors import InstallError
from flows.launch.child import Child, start
from flows.launch.clock import Clock, SystemClock
from flows.launch.ending import KILL, end
from flows.launch.layout import ENVIRONMENT_NAME
from flows.launch.log import LogReader
from flows.launch.processes import MARK

SCRIPT_NAME: Final = "install.sh"
LOG_NAME: Final = "install.log"
RECORD_NAME: Final = "installed.json"
LIMIT_S: Final = 3600.0  # a release that is compiled takes minutes, a slow mirror longer
_KEY_DIGITS: Final = 12
_LOOK_S: Final = 0.1
_LINES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What a script has put on this machine.

    ``packages`` are those of the virtual environment, ``image_digests`` those of an image
    that was pulled. ``made`` is false where an earlier run of the same script had done it.
    """

    folder: Path
    script_sha256: str
    packages: tuple[str, ...]
    image_digests: tuple[str, ...]
    made: bool

    @property
    def environment(self) -> Path:
        """The virtual environment's folder."""
        return self.folder / ENVIRONMENT_NAME

    def to_json(self) -> dict[str, Any]:
        """The record as plain values."""
        return {**asdict(self), "folder": str(self.folder)}


def install(
    plan: LaunchPlan,
    place: Path,
    *,
    environment: Mapping[str, str],
    clock: Clock | None = None,
    progress: Callable[[str], None] = lambda _line: None,
    limit_s: float = LIMIT_S,
) -> Installed:
    """Run the plan's install script, unless the same script has done its work in ``place``.

    Parameters
    ----------
    place
        Where installations are kept, each in a folder named after its script's digest. Of
        two processes that want the same one, the second waits.
    environment
        What the script sees; ``PYTHON`` says which Python makes virtual environments
        (default: the one that runs this).
    progress
        Told each new last line of what the script says.

    Raises
    ------
    InstallError
        With the script's last lines.
    """
    script = plan.install.script
    digest = hashlib.sha256(script.encode()).hexdigest()
    folder = place.resolve() / f"{plan.runtime}-{plan.version}-{digest[:_KEY_DIGITS]}"
    with _locked(folder):
        made = not _is_done(folder, digest)
        if made:
            child = _begun(script, folder, environment, clock or SystemClock())
            _watched(child, clock or SystemClock(), progress, limit_s)
            write_whole(folder / RECORD_NAME, json.dumps({"script_sha256": digest}) + "\n")
    return Installed(
        folder=folder,
        script_sha256=digest,
        packages=_packages(folder / ENVIRONMENT_NAME / "installed.txt"),
        image_digests=_digests(folder / "image-digest.json"),
        made=made,
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f".{folder.name}.lock").open("w")
    except OSError as error:
        raise InstallError(
            str(folder.parent),
            f"it cannot be written: {error.strerror}",
            "Choose another place",
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_done(folder: Path, digest: str) -> bool:
    try:
        found = json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(found == {"script_sha256": digest})


def _begun(script: str, folder: Path, environment: Mapping[str, str], clock: Clock) -> Child:
    """The script, started in a fresh folder: what an interrupted run left is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_whole(folder / SCRIPT_NAME, script)
    mark = f"install-{os.getpid()}-{clock.monotonic_ns()}"
    return start(
        ["/bin/sh", SCRIPT_NAME, ENVIRONMENT_NAME],
        folder,
        log=folder / LOG_NAME,
        env={"PYTHON": sys.executable, **environment, MARK: mark},
        clock=clock,
    )


def _watched(
    child: Child, clock: Clock, progress: Callable[[str], None], limit_s: float
) -> None:
    """Wait for the script's end; nothing of it is left afterwards."""
    reader = LogReader(child.log)
    until_ns = child.started_ns + round(limit_s * 1e9)
    try:
        while child.exit_code() is None and clock.monotonic_ns() < until_ns:
            if reader.lines():
                progress(reader.last_line)
            clock.sleep(_LOOK_S)
        code = child.exit_code()
    finally:
        end(child.family, KILL, clock)
        child.reap()
    if code != 0:
        raise _failed(child.log, reader, code, limit_s)


def _failed(log: Path, reader: LogReader, code: int | None, limit_s: float) -> InstallError:
    for _ in reader.rest():
        pass  # what is left of the log moves its tail on
    said = " | ".join([*reader.tail][-_LINES_SHOWN:]) or "it said nothing"
    how = f"took longer than {limit_s:g} s" if code is None else f"ended with code {code}"
    return InstallError(
        str(log.with_name(SCRIPT_NAME)), f"the script {how}: {said}", f"Read {log}"
    )


def _packages(frozen: Path) -> tuple[str, ...]:
    try:
        return tuple(frozen.read_text(encoding="utf-8").split("\n")[:-1])
    except FileNotFoundError:
        return ()


def _digests(inspected: Path) -> tuple[str, ...]:
    try:
        return tuple(json.loads(inspected.read_bytes()))
    except (FileNotFoundError, ValueError):
        return ()
