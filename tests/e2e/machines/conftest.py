"""Whole campaigns on machines that are entered over SSH, and on rented ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.campaign.conftest import Folder, alone, folder, home, llama, prefect_url
from tests.flows.launch.conftest import VERSIONS
from tests.flows.remote.conftest import make_host, proxied, ssh_keys
from tests.flows.remote.hosts import SshHost

__all__ = ["alone", "folder", "home", "make_host", "prefect_url", "proxied", "ssh_keys"]


def far_llama(name: str, **changed: Any) -> dict[str, Any]:
    """llama.cpp's server in this Python, on a machine that has it: nothing is installed."""
    settings = {"programs": {"python": sys.executable}, **changed.pop("settings", {})}
    return llama(
        name,
        **{"version": VERSIONS["embedded"], "settings": settings, "host": "ssh:box", **changed},
    )


@pytest.fixture
def box(make_host: Callable[..., SshHost], folder: Folder) -> Iterator[SshHost]:
    """A host that the user's OpenSSH configuration knows as ``box``."""
    host = make_host("box")
    host.client(folder.path)
    config = str(folder.path / ".ssh" / "config")
    folder.environment = {**folder.environment, "RUNOFF_SSH_CONFIG": config}
    yield host


def contents(place: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below a folder."""
    for path in place.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()
