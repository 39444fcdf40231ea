"""A runtime's pinned release on a host, by the plan's own script, once per script there."""

from __future__ import annotations

import hashlib
import json
import shlex
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from deploy_templates.plan import LaunchPlan
from flows.errors import InstallError
from flows.launch.install import LIMIT_S, LOG_NAME, RECORD_NAME, SCRIPT_NAME, Installed
from flows.launch.layout import ENVIRONMENT_NAME
from flows.launch.log import LogReader
from flows.remote.host import RemoteHost
from flows.remote.job import RemoteJob, begin

_KEY_DIGITS: Final = 12
_LOOK_S: Final = 0.5
_LINES_SHOWN: Final = 5


def remote_install(
    host: RemoteHost,
    plan: LaunchPlan,
    *,
    progress: Callable[[str], None] = lambda _line: None,
    limit_s: float = LIMIT_S,
) -> Installed:
    """Run the plan's install script on the host, unless it has done its work there before.

    Paths of the result are the host's. The script sees the host's own environment; ``PYTHON``
    is the Python that makes virtual environments: the host's, unless it names another.

    Raises
    ------
    InstallError
        With the script's last lines.
    """
    script = plan.install.script
    digest = hashlib.sha256(script.encode()).hexdigest()
    name = f"{plan.runtime}-{plan.version}-{digest[:_KEY_DIGITS]}"
    folder = f"{host.equipped.root}/installs/{name}"
    record = json.dumps({"script_sha256": digest}) + "\n"
    made = host.ask("text", path=f"{folder}/{RECORD_NAME}") != record
    if made:
        _run(host, name, folder, script, progress=progress, limit_s=limit_s)
        host.ask("lay", folder=folder, files={RECORD_NAME: record}, links={})
    frozen = host.ask("text", path=f"{folder}/{ENVIRONMENT_NAME}/installed.txt") or ""
    pulled = host.ask("text", path=f"{folder}/image-digest.json") or "[]"
    return Installed(
        folder=Path(folder),
        script_sha256=digest,
        packages=tuple(frozen.split("\n")[:-1]),
        image_digests=_digests(pulled),
        made=made,
    )


def _run(
    host: RemoteHost,
    name: str,
    folder: str,
    script: str,
    *,
    progress: Callable[[str], None],
    limit_s: float,
) -> None:
    """The script in a fresh folder, watched to its end; nothing of it is left afterwards."""
    host.ask("fresh", folder=folder)
    host.ask("lay", folder=folder, files={SCRIPT_NAME: script}, links={})
    environment = {"PYTHON": host.equipped.python, **host.equipped.environment}
    with tempfile.TemporaryDirectory(prefix="runoff-install-") as here:
        mirror = Path(here, LOG_NAME)
        mirror.touch()
        job = begin(
            host,
            f"install-{name}-{time.time_ns():x}",
            ["/bin/sh", SCRIPT_NAME, ENVIRONMENT_NAME],
            cwd=folder,
            env=environment,
            log=f"{folder}/{LOG_NAME}",
            mirror=mirror,
            note={"kind": "install", "name": name},
        )
        try:
            _watched(job, LogReader(mirror), folder, progress=progress, limit_s=limit_s)
        finally:
            job.end()
            job.forget()


def _watched(
    job: RemoteJob,
    reader: LogReader,
    folder: str,
    *,
    progress: Callable[[str], None],
    limit_s: float,
) -> None:
    until_s = time.monotonic() + limit_s
    while not job.is_over and time.monotonic() < until_s:
        job.look()
        if reader.lines():
            progress(reader.last_line)
        time.sleep(_LOOK_S if not job.is_over else 0)
    if not job.is_over:
        raise _failed(job, reader, f"took longer than {limit_s:g} s", folder)
    job.look_to_the_end()
    if job.stage != "ended" or job.seen["exit_code"] != 0:
        how = f"ended with code {job.seen.get('exit_code')}"
        raise _failed(job, reader, how, folder)


def _failed(job: RemoteJob, reader: LogReader, how: str, folder: str) -> InstallError:
    for _ in reader.rest():
        pass  # what is left of the log moves its tail on
    said = " | ".join([*reader.tail][-_LINES_SHOWN:]) or "it said nothing"
    return InstallError(
        f"{job.host.where}, {folder}/{SCRIPT_NAME}",
        f"the script {how}: {said}",
        f"Read {shlex.quote(job.log)} there",
    )


def _digests(text: str) -> tuple[str, ...]:
    with suppress(ValueError):
        return tuple(json.loads(text))
    return ()
