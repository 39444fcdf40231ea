"""Hosts over SSH: sshd on loopback, each with folders, keys and a lock of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.remote.host import RemoteHost
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
