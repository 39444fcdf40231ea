from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flows.errors import LaunchError
from flows.launch.ports import listeners, published, require_free, require_ours
from flows.launch.processes import Family, age_s, described, process_of, sockets_of

OURS = Family(leader=os.getpgid(0), mark="none")
NOBODYS = Family(leader=2**22 + 1, mark="none")


def test_a_free_port_is_free_also_right_after_its_last_connection(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as server:
        client = socket.create_connection(("127.0.0.1", port))
        server.accept()[0].close()
    client.close()

    require_free("127.0.0.1", port, "here")
    assert require_ours("127.0.0.1", port, OURS, "here") is None
    assert published("127.0.0.1", port) is None


@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")],
)
def test_whoever_takes_connections_to_the_address_holds_the_port(
    family: socket.AddressFamily, host: str
) -> None:
    if family == socket.AF_INET6 and not Path("/proc/net/if_inet6").exists():
        family, host = socket.AF_INET, "127.0.0.1"
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]

        assert [each.address for each in listeners("127.0.0.1", port)] == [host]
        with pytest.raises(LaunchError, match=rf"pid {os.getpid()} \(") as caught:
            require_free("127.0.0.1", port, "here")
    assert caught.value.kind == "port in use"


def test_another_address_of_the_machine_is_another_port() -> None:
    with socket.create_server(("127.0.0.2", 0)) as server:
        port = server.getsockname()[1]

        assert listeners("127.0.0.1", port) == ()


def test_a_port_that_is_bound_without_listening_is_refused_too(port: int) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", port))

        with pytest.raises(LaunchError, match=f"port {port} cannot be opened"):
            require_free("127.0.0.1", port, "here")


def test_a_listening_socket_of_the_family_proves_the_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        proof = require_ours("127.0.0.1", server.getsockname()[1], OURS, "here")

    assert proof is not None
    assert proof.how == "by process"
    assert os.getpid() in proof.pids
    assert proof.addresses == ("127.0.0.1",)


def test_a_strangers_socket_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        with pytest.raises(LaunchError, match="which this launch has not started") as caught:
            require_ours("127.0.0.1", port, NOBODYS, "here")
        assert published("127.0.0.1", port) is not None
    assert caught.value.kind == "port not ours"


def test_a_port_shared_with_a_stranger_is_not_ours(port: int) -> None:
    code = (
        "import socket; s = socket.socket()\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
        f"s.bind(('127.0.0.1', {port})); s.listen(); print(flush=True); input()"
    )
    with socket.socket() as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        ours.bind(("127.0.0.1", port))
        ours.listen()
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as stranger:
            stranger.stdout.readline()
            with pytest.raises(LaunchError, match=rf"answered by pid {stranger.pid} \("):
                require_ours("127.0.0.1", port, OURS, "here")
            stranger.communicate(b"\n")


def test_a_process_is_described_without_its_arguments() -> None:
    assert described(os.getpid()).startswith(f"pid {os.getpid()} (")
    assert described(2**22 + 1) == f"pid {2**22 + 1}"
    assert process_of(2**22 + 1) is None
    assert sockets_of(2**22 + 1) == frozenset()


def test_the_age_of_this_process_is_that_of_its_start() -> None:
    this = process_of(os.getpid())

    assert this is not None
    assert 0 < age_s(this) < 86_400
