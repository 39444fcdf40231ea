"""What is put on a host: our own modules that need only Python, and the HTTP parser.

The kit is a zip file named after its content, so it travels once to each host.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from flows.errors import InfrastructureError
from flows.machine.shipped import SHIPPED

PARSER: Final = "httptools"
_ROOT: Final = Path(__file__).parents[2]
_SHIPPED: Final = (
    *("flows/__init__.py", "flows/errors.py", "flows/foreign_load.py", "flows/host_lock.py"),
    *("flows/host_counters.py", *SHIPPED),
    *(f"flows/launch/{name}.py" for name in ("__init__", "child", "clock", "ending", "guard")),
    *(f"flows/launch/{name}.py" for name in ("ports", "processes")),
    *(f"flows/remote/{name}.py" for name in ("__init__", "agent", "hold", "job_folder")),
    *(f"flows/remote/{name}.py" for name in ("keeper", "notices", "watch_load")),
    *(f"flows/system/{name}.py" for name in ("__init__", "facts", "groups", "processors")),
    *(f"flows/system/{name}.py" for name in ("read", "texts")),
    *(f"flows/calibrate/{name}" for name in ("__init__.py", "target.py", "kernels.c")),
    *(f"flows/calibrate/{name}.py" for name in ("numpy_probe", "torch_probe")),
)
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
_DOWNLOAD_S: Final = 120.0
_LIBC: Final = ("manylinux_2_28", "manylinux2014")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """A host's Python: its path, release, and the tag of what is compiled for it.

    ``parser`` is the release of the HTTP parser that it has already, None without one.
    """

    path: str
    version: tuple[int, int]
    tag: str
    machine: str
    parser: str | None


@cache
def kit_for(python: HostPython) -> bytes:
    """The kit as a zip file, the same bytes for the same Python.

    Raises
    ------
    InfrastructureError
        If no HTTP parser can be had for that Python.
    """
    files = {name: (_ROOT / name).read_bytes() for name in (*_SHIPPED, *_load_modules())}
    files |= _parser_files(python)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), files[name])
    return packed.getvalue()


def digest(kit: bytes) -> str:
    """The name of a kit: the first digits of its SHA-256."""
    return hashlib.sha256(kit).hexdigest()[:16]


def _load_modules() -> Iterator[str]:
    for path in sorted((_ROOT / "flows" / "load").glob("*.py")):
        yield str(path.relative_to(_ROOT))


def _parser_files(python: HostPython) -> dict[str, bytes]:
    """The installed parser where it fits the host's Python, else one that is fetched for it."""
    if python.tag == sysconfig.get_config_var("SOABI"):
        return dict(_installed())
    if python.parser is not None:
        return {}
    return _fetched(python)


def _installed() -> Iterator[tuple[str, bytes]]:
    for file in importlib.metadata.files(PARSER) or ():
        if file.parts[0] == PARSER and file.suffix in (".py", ".so"):
            yield str(file), file.read_binary()


def _fetched(python: HostPython) -> dict[str, bytes]:
    """The parser of our own release for another Python, by pip."""
    release = importlib.metadata.version(PARSER)
    abi = f"cp{python.version[0]}{python.version[1]}"
    with tempfile.TemporaryDirectory(prefix="runoff-kit-") as folder:
        words = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", folder]
        words += ["--only-binary=:all:", "--implementation", "cp", "--abi", abi]
        words += ["--python-version", ".".join(map(str, python.version))]
        words += [each for libc in _LIBC for each in ("--platform", f"{libc}_{python.machine}")]
        said = _run([*words, f"{PARSER}=={release}"])
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                names = [each for each in archive.namelist() if each.startswith(f"{PARSER}/")]
                return {name: archive.read(name) for name in names}
    raise InfrastructureError(
        f"{PARSER} {release} for Python {'.'.join(map(str, python.version))} "
        f"on {python.machine}",
        f"it is not installed there and cannot be fetched: {said}",
        f"Install it there: {python.path} -m pip install {PARSER}=={release}",
    )


def _run(words: list[str]) -> str:
    """What a program said last."""
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter's pip
            words, capture_output=True, text=True, timeout=_DOWNLOAD_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_DOWNLOAD_S:g} s"
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[-1] if said else "it said nothing"
