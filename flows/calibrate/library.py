"""NumPy lent to a host that has neither a compiler nor NumPy: the one that is here."""

from __future__ import annotations

import importlib.metadata
import json
import secrets
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flows.calibrate.target import COMPILERS

if TYPE_CHECKING:
    from flows.remote.host import RemoteHost

_NAME: Final = "numpy"
_MINUTES_S: Final = 300.0
_LOOK: Final = (
    "import importlib.util as u, json, platform, shutil, sys, sysconfig; "
    "print(json.dumps({'tag': sysconfig.get_config_var('SOABI'), "
    "'machine': platform.machine(), 'numpy': bool(u.find_spec('numpy')), "
    "'compiler': any(map(shutil.which, sys.argv[1:]))}))"
)

_UNPACK: Final = (
    "import os, sys, zipfile; aside, folder = sys.argv[1:]; packed = aside + '/library.zip'; "
    "zipfile.ZipFile(packed).extractall(aside); os.remove(packed); os.rename(aside, folder)"
)


def lent_numpy(host: RemoteHost) -> str | None:
    """The folder on the host that has NumPy for its Python; None where it needs or fits none.

    It is sent once, and used by calibrations alone.
    """
    python = host.equipped.python
    code, said = host.ask("ran", argv=[python, "-P", "-s", "-c", _LOOK, *COMPILERS])
    if code != 0:
        return None
    there = json.loads(said)
    own = sysconfig.get_config_var("SOABI")
    if there["compiler"] or there["numpy"] or there["tag"] != own:
        return None
    release = importlib.metadata.version(_NAME)
    folder = f"{host.equipped.root}/libraries/{_NAME}-{release}-{own}"
    if not host.ask("paths", pattern=f"{folder}/{_NAME}/__init__.py"):
        _send(host, folder)
    return folder


def _send(host: RemoteHost, folder: str) -> None:
    """Put it aside and name it when it is whole."""
    aside = f"{folder}.{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory(prefix="runoff-library-") as here:
        packed = Path(here, "library.zip")
        _pack(packed)
        host.ask("fresh", folder=aside)
        host.put(packed, f"{aside}/library.zip")
    python = host.equipped.python
    code, _ = host.ask(
        "ran",
        limit_s=2 * _MINUTES_S,
        argv=[python, "-P", "-s", "-c", _UNPACK, aside, folder],
        within_s=_MINUTES_S,
    )
    if code != 0:
        host.ask("remove", folder=aside)


def _pack(path: Path) -> None:
    """NumPy as it is installed here, with the libraries beside it; no tests."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in importlib.metadata.files(_NAME) or ():
            top, is_code = file.parts[0], file.suffix in (".py", ".so") or ".so." in file.name
            if top in (_NAME, f"{_NAME}.libs") and is_code and "tests" not in file.parts:
                archive.write(file.locate(), str(file))
