"""What of the world only a doctor asks for: engines, Prefect, stamps of the kernel."""

from __future__ import annotations

import contextlib
import importlib.metadata
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy_templates.runtime_folder import load_runtime_folder, runtime_folders
from flows.load.clock import ANCILLARY_BYTES, SO_TIMESTAMPNS

_PREFECT_S: Final = 60.0
# the kernel begins to stamp a moment after it is first asked to, later on a busy machine
_STAMPS_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One runtime: programs that serve it, and packages that bring it; else an image does."""

    runtime: str
    programs: tuple[str, ...]
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Questions that tests answer themselves.

    ``package`` is an installed package's version, None where there is none; ``prefect`` its
    version, or the reason why it cannot be imported; ``has_stamps`` whether the kernel
    stamps what arrives.
    """

    package: Callable[[str], str | None]
    prefect: Callable[[], tuple[str | None, str]]
    has_stamps: Callable[[], bool]


def real_tools(environment: Mapping[str, str]) -> Tools:
    """This Python, its packages, and this kernel."""
    return Tools(
        package=package_version,
        prefect=lambda: imported_prefect(environment),
        has_stamps=has_stamps,
    )


def engines(folders: Sequence[Path] = ()) -> tuple[Engine, ...]:
    """Every runtime that serves real models, with what would bring it."""
    found = []
    for name in runtime_folders(folders):
        folder = load_runtime_folder(name, folders)
        if folder.capabilities.simulation:
            continue
        launch = folder.launch
        programs = {form.program for form in launch.forms if form.program}
        packages = {package.name for pin in launch.pins for package in pin.packages}
        found.append(
            Engine(
                runtime=name, programs=tuple(sorted(programs)), packages=tuple(sorted(packages))
            )
        )
    return tuple(found)


def package_version(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def imported_prefect(environment: Mapping[str, str]) -> tuple[str | None, str]:
    """Prefect's version as a process of its own imports it, or why it cannot."""
    code = "import prefect; print(prefect.__version__)"
    try:
        with tempfile.TemporaryDirectory(prefix="runoff-prefect-") as home:
            done = subprocess.run(  # noqa: S603 - this interpreter
                [sys.executable, "-P", "-c", code],
                env={**environment, "PREFECT_HOME": home},
                capture_output=True,
                text=True,
                timeout=_PREFECT_S,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return None, lines[-1] if lines else f"it ended with code {done.returncode}"
    return done.stdout.split()[-1], ""


def has_stamps() -> bool:
    """Whether bytes sent over loopback arrive with the kernel's stamp, within 3 s of asking."""
    with contextlib.ExitStack() as held:
        try:
            server = held.enter_context(socket.create_server(("127.0.0.1", 0)))
            near = held.enter_context(socket.create_connection(server.getsockname(), 5.0))
            far = held.enter_context(server.accept()[0])
            near.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            until_s = time.monotonic() + _STAMPS_S
            while time.monotonic() < until_s:
                far.sendall(b"x")
                if near.recvmsg(1, ANCILLARY_BYTES)[1]:
                    return True
                time.sleep(0.01)
        except OSError:
            return False
    return False
