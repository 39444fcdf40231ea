"""Hosts over SSH: sshd on loopback, each with folders, keys and a lock of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.remote.host import RemoteHost
from flows.ssh import Connection, connect
from tests.conftest import refuse_or_skip
from tests.flows.remote.hosts import FarHost, Network, Proxy, SshHost, end_all_below, missing


@pytest.fixture(scope="session")
def ssh_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reason = missing()
    if reason is not None:
        refuse_or_skip(reason)
    return tmp_path_factory.mktemp("keys")


@pytest.fixture
def make_host(tmp_path: Path, ssh_keys: Path) -> Iterator[Callable[..., SshHost]]:
    """Start hosts by name; they end with the test, and all that it left on them."""
    made: list[SshHost] = []

    def make(name: str = "host", kind: type[SshHost] = SshHost, **options: object) -> SshHost:
        host = kind(tmp_path / name, ssh_keys, **options)
        host.start()
        made.append(host)
        return host

    yield make
    for host in made:
        host.stop()
        end_all_below(host.folder)


@pytest.fixture
def ssh_host(make_host) -> SshHost:
    return make_host()


@pytest.fixture
def far_host(make_host) -> SshHost:
    """A host whose loopback interface is not ours."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        refuse_or_skip("no unshare and nsenter")
    network = Network()
    network.close()
    if not network.is_there:
        pytest.skip("this machine allows no network namespaces")
    return make_host("far", FarHost)


@pytest.fixture
def proxied() -> Iterator[Callable[[SshHost], Proxy]]:
    made: list[Proxy] = []

    def make(host: SshHost) -> Proxy:
        made.append(Proxy(host.port))
        key = host.known_hosts.read_text().partition(" ")[2]
        with host.known_hosts.open("a") as file:
            file.write(f"[127.0.0.1]:{made[-1].port} {key}")
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


@pytest.fixture
def remote() -> Iterator[Callable[..., RemoteHost]]:
    """A host as it is asked; closed with the test."""
    made: list[RemoteHost] = []

    def open_(host: SshHost, *, port: int | None = None, **options: object) -> RemoteHost:
        login = host.login() if port is None else host.login(port=port)
        made.append(RemoteHost(login, **options))
        return made[-1]

    yield open_
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def shared_host(tmp_path_factory: pytest.TempPathFactory, ssh_keys: Path) -> Iterator[SshHost]:
    """One host for all tests that leave it as it was."""
    host = SshHost(tmp_path_factory.mktemp("shared") / "host", ssh_keys)
    host.start()
    yield host
    host.stop()
    end_all_below(host.folder)


@pytest.fixture(scope="session")
def box(shared_host: SshHost) -> Iterator[RemoteHost]:
    """That host, connected and equipped."""
    with RemoteHost(shared_host.login()) as host:
        yield host


@pytest.fixture
def cut_host(shared_host: SshHost, proxied, remote) -> Callable[[int], RemoteHost]:
    """That host over a connection that will be cut after so many bytes more."""

    def make(more_bytes: int) -> RemoteHost:
        proxy = proxied(shared_host)
        host = remote(shared_host, port=proxy.port)
        host.ask("clock")
        proxy.cut_after(more_bytes)
        return host

    return make


@pytest.fixture
def connection(shared_host: SshHost) -> Iterator[Connection]:
    with connect(shared_host.login()) as opened:
        yield opened


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if (
        os.getuid() != 0
        or subprocess.run(words, check=False, capture_output=True).returncode != 0
    ):
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", place], check=True)
