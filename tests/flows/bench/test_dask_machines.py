"""Which workers take a load, and what keeps a scheduler from being used."""

from __future__ import annotations

import importlib.util
import platform
import socket
import threading
from dataclasses import dataclass, replace
from typing import Any

import pytest

from flows.bench import dask_machines, dask_there
from flows.bench.dask_machines import check_address, connected, machines, spread
from flows.errors import InfrastructureError, UsageError
from flows.load.plan import Endpoint

WORKER = "tls://10.0.0.5:40001"
HERE = Endpoint(url="http://127.0.0.1:8000/v1/completions")
FAR = Endpoint(url="https://serving.example/v1/completions")


@dataclass
class Cluster:
    """A scheduler with one worker on another machine, as its client shows it."""

    said: Any
    python: str = platform.python_version()
    tasks: tuple[str, ...] = ()

    def scheduler_info(self) -> dict[str, Any]:
        return {"workers": {WORKER: {"host": "10.0.0.5"}}}

    def processing(self) -> dict[str, Any]:
        return {WORKER: self.tasks}

    def get_versions(self) -> dict[str, Any]:
        return {"workers": {WORKER: {"host": {"python": f"{self.python}.final.0"}}}}

    def run(self, *_given: Any, **_named: Any) -> dict[str, Any]:
        return {WORKER: self.said}


OTHER = replace(dask_there.facts(), name="client-2", network="another machine's")


def test_shards_go_to_other_machines_before_a_second_one_goes_to_any():
    hosts = {"tcp://a:1": "a", "tcp://a:2": "a", "tcp://a:3": "a", "tcp://b:1": "b"}

    assert spread(hosts, 2) == ["tcp://a:1", "tcp://b:1"]
    assert spread(hosts, 3) == ["tcp://a:1", "tcp://b:1", "tcp://a:2"]
    assert spread(hosts, 4) == ["tcp://a:1", "tcp://b:1", "tcp://a:2", "tcp://a:3"]


@pytest.mark.parametrize("address", ["tls://scheduler.example:8786", "tcp://127.0.0.1:8786"])
def test_a_scheduler_here_or_behind_tls_is_taken(address):
    check_address(address)


@pytest.mark.parametrize(
    "address", ["scheduler:8786", "http://127.0.0.1:8787", "tcp://127.0.0.1", "tcp://:1", "x"]
)
def test_what_is_no_schedulers_address_is_told_how_one_looks(address):
    with pytest.raises(UsageError, match=r"no address of a Dask scheduler.*tls://"):
        check_address(address)


def test_prompts_and_keys_go_to_no_other_machine_in_the_clear():
    with pytest.raises(UsageError, match=r"in the clear.*tls://"):
        check_address("tcp://10.0.0.5:8786")


def test_without_the_extra_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)

    with pytest.raises(
        UsageError, match=r"Dask is not installed.*pip install 'runoff\[dask\]'"
    ):
        check_address("tcp://127.0.0.1:8786")


def test_where_no_scheduler_answers_it_is_said_how_one_is_started(monkeypatch):
    monkeypatch.setattr("flows.bench.dask_machines._CONNECT_S", 0.3)

    with (
        pytest.raises(InfrastructureError, match=r"no Dask scheduler.*`dask scheduler`"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_who_is_no_scheduler_is_told_so_soon(said, monkeypatch):
    """Such as a scheduler's own dashboard, which waits for a request."""
    monkeypatch.setattr(dask_machines, "_CONNECT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(said)
                while connection.recv(4096):
                    pass

        threading.Thread(target=answer, daemon=True).start()
        with (
            pytest.raises(InfrastructureError, match="no Dask scheduler can be reached"),
            connected(f"tcp://127.0.0.1:{listening.getsockname()[1]}"),
        ):
            pass


def test_a_worker_at_work_is_not_given_a_load():
    with pytest.raises(InfrastructureError, match="1 idle workers are needed, and 1 of 1"):
        machines(Cluster(OTHER, tasks=("runoff-load-0",)), 1, [FAR])


def test_a_worker_like_us_takes_the_load_of_a_server_that_is_the_same_for_all():
    (machine,) = machines(Cluster(OTHER), 1, [FAR])

    assert (machine.worker, machine.name) == (WORKER, "client-2")


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        (Cluster(OTHER, python="3.12.1"), r"its Python is 3\.12\.1, and ours"),
        (Cluster(ModuleNotFoundError("No module named 'flows'")), "it has no runoff"),
        (Cluster(replace(OTHER, runoff="0.0.1+00000000")), r"its runoff is 0\.0\.1\+00000000"),
    ],
    ids=["Python", "no runoff", "runoff"],
)
def test_a_worker_that_is_not_like_us_is_refused_with_what_to_do(cluster, why):
    with pytest.raises(UsageError, match=f"{why}.*Install there what is here"):
        machines(cluster, 1, [FAR])


def test_a_server_on_loopback_is_not_loaded_from_another_machine():
    with pytest.raises(UsageError, match="another server on client-2 than here"):
        machines(Cluster(OTHER), 1, [HERE])


def test_two_shards_find_no_place_on_one_worker():
    with pytest.raises(UsageError, match=r"2 shards need as many workers.*has 1"):
        machines(Cluster(OTHER), 2, [FAR])


def test_what_carries_a_plan_shows_nothing_of_it_wherever_it_is_printed():
    """Dask logs the arguments of a call that failed."""
    sealed = dask_there.Sealed(b"Bearer planted-secret", {0: b"planted-secret"})

    assert "planted" not in f"{sealed} {sealed!r} {(sealed,)}"
