"""Whole campaigns on machines that are entered over SSH, and on rented ones."""

from __future__ import annotations

import base64
import getpass
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.load import shipped_catalog
from deploy_templates.registry import shipped_runtimes
from tests.conftest import refuse_or_skip
from tests.e2e.campaign.conftest import (
    CONTRACT,
    Folder,
    alone,
    folder,
    home,
    llama,
    prefect_url,
)
from tests.flows.amazon.aws_endpoint import World
from tests.flows.amazon.conftest import ec2, endpoint, world
from tests.flows.launch.conftest import VERSIONS, gguf
from tests.flows.remote.conftest import make_host, proxied, ssh_keys
from tests.flows.remote.hosts import SshHost, end_all_below, free_port, missing

__all__ = [
    "alone",
    "ec2",
    "endpoint",
    "folder",
    "gguf",
    "home",
    "make_host",
    "prefect_url",
    "proxied",
    "ssh_keys",
    "world",
]
TOKEN = "hf_this-is-planted-and-must-not-be-found"
# on a busy machine, too, the client is not what limits
PATIENT = {**CONTRACT, "slo": {"ttft": "20 s", "itl": "5 s", "goodput": "50%"}}
OFFER = "aws/m7i.metal-48xl"
SUDO = """#!/bin/sh
# plays an administrator: the machine's root is a folder
[ "$1" = -n ] && shift
program=$1
shift
RUNOFF_DEAD_MAN={root}/var/lib/runoff exec "{root}$program" "$@"
"""


def far_llama(name: str, **changed: Any) -> dict[str, Any]:
    """llama.cpp's server in this Python, on a machine that has it: nothing is installed."""
    settings = {"programs": {"python": sys.executable}, **changed.pop("settings", {})}
    stated = {"version": VERSIONS["embedded"], "settings": settings, "host": "ssh:box"}
    return llama(name, **{**stated, **changed})


def of_the_hub(folder: Folder, weights: Path) -> tuple[dict[str, Any], Path]:
    """A candidate that names its weights on the hub and is given the hub's token for them.

    Nothing is fetched: a runtime of the user's own catalog has them in this file. The same
    catalog has the model under a name of the hub.
    """
    catalog = folder.path / "catalog"
    shutil.copytree(shipped_runtimes() / "llama_server", catalog / "runtimes" / "hub_llama")
    runtime = catalog / "runtimes" / "hub_llama" / "runtime.yaml"
    text = runtime.read_text().replace("  name: llama_server\n", "  name: hub_llama\n", 1)
    text = text.replace("  loads_files: true\n", "  loads_files: false\n", 1)
    runtime.write_text(text.replace('"{{ model }}"', f'"{weights}"', 1))
    model = catalog / "models" / "nobody--tiny-llama.yaml"
    model.parent.mkdir()
    known = (shipped_catalog() / "models" / f"{CONTRACT['model']}.yaml").read_text()
    model.write_text(known.replace(f"name: {CONTRACT['model']}", "name: nobody/tiny-llama", 1))
    return far_llama("far", runtime="hub_llama", checkpoint="hub"), catalog


@pytest.fixture
def box(make_host: Callable[..., SshHost], folder: Folder) -> SshHost:
    """A host that the user's OpenSSH configuration knows as ``box``."""
    host = make_host("box")
    entered_by(folder, host)
    return host


def entered_by(folder: Folder, host: SshHost, **more: str) -> None:
    """Make a host known to the user as ``box``; what is more replaces how."""
    host.client(folder.path, **more)
    config = str(folder.path / ".ssh" / "config")
    folder.environment = {**folder.environment, "RUNOFF_SSH_CONFIG": config}


@dataclass
class Rented:
    """A machine that AWS has started: its first boot is played here, with a real sshd."""

    world: World
    place: Path
    port: int = field(default_factory=free_port)
    environment: dict[str, str] = field(default_factory=dict)
    host: SshHost | None = None
    count: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def folder(self) -> Path:
        """The newest one's."""
        return self.place / f"machine-{self.count}"

    def boot(self) -> None:
        """Wait for launches and do what cloud-init does with the user data of each."""
        while not self.is_over.wait(0.05):
            asked = [p for p in self.world.parameters("RunInstances") if "DryRun" not in p]
            if len(self.world.tokens) > self.count:
                self._end()
                self.count = len(self.world.tokens)
                self._boot(asked[-1], self.world.parameters("ImportKeyPair")[-1])

    def close(self) -> None:
        """End it, and what it ran."""
        self.is_over.set()
        self._end()

    def _end(self) -> None:
        if self.host is not None:
            self.host.stop()
            end_all_below(self.place)

    def _boot(self, asked: dict[str, str], imported: dict[str, str]) -> None:
        told = yaml.safe_load(base64.b64decode(asked["UserData"]))
        folder, keys = self.folder, self.place / f"keys-{self.count}"
        for each in (folder, keys, self.place / "bin"):
            each.mkdir(parents=True, exist_ok=True)
        private = folder / "host_key"
        private.write_text(told["ssh_keys"]["ed25519_private"])
        private.chmod(0o600)
        (folder / "host_key.pub").write_text(told["ssh_keys"]["ed25519_public"])
        (keys / "user_key").touch()
        (keys / "user_key.pub").write_bytes(base64.b64decode(imported["PublicKeyMaterial"]))
        for file in told["write_files"]:
            path = folder / "root" / file["path"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file["content"])
            path.chmod(int(file["permissions"], 8))
        sudo = self.place / "bin" / "sudo"
        sudo.write_text(SUDO.format(root=folder / "root"))
        sudo.chmod(0o755)
        self._run(told["runcmd"])
        host = SshHost(folder, keys, self.environment, port=self.port)
        path = host.config.read_text().replace("PATH=", f"PATH={sudo.parent}:", 1)
        host.config.write_text(path)
        host.start()
        self.host = host

    def _run(self, commands: list[list[str]]) -> None:
        """Commands of the first boot that are of programs which it has itself."""
        root = self.folder / "root"
        for program, *words in commands:
            if (root / program.lstrip("/")).exists() and program.startswith("/"):
                subprocess.run(
                    [root / program.lstrip("/"), *words],
                    env={"PATH": "/usr/bin:/bin", "RUNOFF_DEAD_MAN": f"{root}/var/lib/runoff"},
                    check=True,
                )

    def number(self, name: str) -> int:
        """A number that the machine's switch has on its disk."""
        return int((self.folder / "root/var/lib/runoff" / name).read_text())


@pytest.fixture
def rented(world: World, folder: Folder, endpoint: Any, tmp_path: Path) -> Iterator[Rented]:
    """The next machine that is rented; its public address leads to its sshd here."""
    if (reason := missing()) is not None:
        refuse_or_skip(reason)
    world.answers["GetServiceQuota"] = {"Quota": {"QuotaName": "Standard", "Value": 1000.0}}
    machine = Rented(world, tmp_path / "aws")
    config = tmp_path / "ssh_config"
    config.write_text(f"Host *.*.*.*\n  HostName 127.0.0.1\n  Port {machine.port}\n")
    folder.environment = {
        **{k: v for k, v in folder.environment.items() if not k.startswith("AWS_")},
        "RUNOFF_SSH_CONFIG": str(config),
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": "the-secret-of-the-test",
        "AWS_REGION": "us-east-1",
        "HOME": str(tmp_path),
        "RUNOFF_HOME": str(tmp_path / "home"),
    }
    boots = threading.Thread(target=machine.boot)
    boots.start()
    yield machine
    machine.is_over.set()
    boots.join()
    machine.close()


def on_aws(folder: Folder, candidate: dict[str, Any], **changed: Any) -> Path:
    """A campaign on a machine that is rented for it."""
    del candidate["host"]
    aws = {"caller": "203.0.113.7", "user": getpass.getuser(), "patience": "1 s"}
    stated = {"aws": {**aws, **changed.pop("aws", {})}, "budget": {"usd": 50}}
    return folder.campaign([{**candidate, "offer": OFFER}], **{**stated, **changed})


def found_in(place: Path, secret: str) -> list[str]:
    """Files below a folder that have the secret in any of their bytes."""
    return [
        str(path)
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink() and secret.encode() in path.read_bytes()
    ]


def wait_until(true: Callable[[], object], limit_s: float = 60.0) -> None:
    until_s = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < until_s, "it did not come"
        time.sleep(0.05)
