"""Load from the workers of a Dask cluster: real processes, one of which dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributed import Client

from flows.bench import dask_place, dask_there
from flows.bench.scratch import scratch
from flows.launch.processes import process_of
from flows.launching import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]

KEY = "planted-secret-key"
WORKERS = 3


@dataclass
class Cluster:
    """A scheduler and its workers, all on this machine."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]
    folder: Path

    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def loads(self) -> list[int]:
        """Load processes that run now."""
        lists = [
            Path(f"/proc/{worker.pid}/task").glob("*/children")
            for worker in self.workers
            if worker.poll() is None
        ]
        return [
            int(pid) for paths in lists for path in paths for pid in path.read_text().split()
        ]


def dask(part: str, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-P", "-m", f"distributed.cli.dask_{part}", *arguments]
    with log.open("wb") as out:
        return subprocess.Popen([*line, "--no-dashboard"], stdout=out, stderr=out)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("dask"), WORKERS) as found:
        yield found


@contextmanager
def running_cluster(folder: Path, count: int) -> Iterator[Cluster]:
    port = str(free_port())
    address = f"tcp://127.0.0.1:{port}"
    here = ("--host", "127.0.0.1")
    space = ("--local-directory", str(folder), "--no-nanny", "--nthreads", "1")
    scheduler = dask("scheduler", *here, "--port", port, log=folder / "scheduler.log")
    workers = [
        dask("worker", address, *here, *space, log=folder / f"worker-{number}.log")
        for number in range(count)
    ]
    found = Cluster(address, scheduler, workers, folder)
    try:
        with Client(address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)  # of those that the scheduler knows
        yield found
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def until(holds, limit_s: float = 60.0) -> None:
    end_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end_s, "it never came to hold"
        time.sleep(0.05)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads of this process begin sooner than a distant cluster's could."""
    monkeypatch.setattr(dask_place, "LEAD_S", 3.0)


@pytest.fixture
def disturbed(engine, bench, soon):
    """A load on all of a cluster in which ``fault`` happens once its shards run."""

    def load(cluster: Cluster, shards: int, fault):
        def strike() -> None:
            until(lambda: len(cluster.loads()) == shards)
            fault()

        striker = threading.Thread(target=strike)
        striker.start()
        result = bench(
            engine().url,
            dask=cluster.address,
            shards=shards,
            concurrency=shards,
            num_requests=None,
            warmup_requests=shards,
            duration=120,
        )
        striker.join()
        return result

    return load


def test_two_workers_load_together_and_leave_one_file_and_one_summary(
    engine, bench, cluster, soon, monkeypatch
):
    monkeypatch.setenv("LOAD_KEY", KEY)

    result = bench(
        engine().url,
        dask=cluster.address,
        shards=2,
        request_rate=40.0,
        num_requests=140,
        warmup_requests=40,
        api_key_env="LOAD_KEY",
    )

    assert result.code in (0, 7), result.said
    requests = result.summary["requests"]
    assert requests["measured"] == 100
    assert requests["planned"] == requests["sent"] == requests["ok"]
    columns = result.columns
    first = [columns.scheduled_ns[columns.shard == number].min() for number in (0, 1)]
    assert (
        abs(first[0] - first[1]) < 1e9
    )  # of one time line, though each began by its own clock
    assert len(set(columns.prompt)) == len(columns)
    for machine in result.summary["load_machines"]:
        assert abs(machine["clock_ahead_ms"]) <= machine["clock_error_ms"]  # it is this machine
    assert len({machine["worker"] for machine in result.summary["load_machines"]}) == 2
    assert "Shards by machine" in result.said
    assert KEY not in result.said + cluster.logs()
    assert cluster.loads() == []


def test_a_worker_that_dies_voids_the_cell_and_leaves_no_load_behind(cluster, disturbed):
    def kill_one() -> None:
        victim = cluster.workers.pop()
        victim.kill()
        victim.wait()

    result = disturbed(cluster, WORKERS, kill_one)

    assert result.code == 8
    assert "it was lost while the load ran. The cell is void" in " ".join(result.said.split())
    assert result.summary == {}
    until(lambda: cluster.loads() == [])


def test_what_was_measured_until_ctrl_c_is_kept(engine, bench, cluster):
    process = bench.start(
        engine().url,
        dask=cluster.address,
        shards=2,
        concurrency=4,
        num_requests=None,
        warmup_requests=4,
        duration=120,
    )
    until(lambda: len(cluster.loads()) == 2)
    time.sleep(dask_place.LEAD_S + 1.0)
    process.send_signal(signal.SIGINT)
    result = bench.end(process)

    assert result.code == 130, result.said
    assert result.summary["incomplete"]
    assert result.summary["requests"]["ok"] > 0


def test_a_load_keeps_its_workers_and_its_files_beside_other_loads(engine, bench, cluster):
    server = engine()
    first = bench.start(
        server.url,
        dask=cluster.address,
        shards=2,
        request_rate=20.0,
        num_requests=120,
        warmup_requests=20,
    )
    until(lambda: len(cluster.loads()) == 2)
    second = bench(server.url, dask=cluster.address, shards=2, concurrency=2)
    with scratch():
        pass  # any load of this user removes first what killed ones have left
    result = bench.end(first)

    assert second.code == 8
    assert "2 idle workers are needed" in " ".join(second.said.split())
    assert result.code in (0, 7), result.said
    assert result.summary["requests"]["measured"] == 100


def test_a_lost_scheduler_voids_the_cell_and_ends_its_loads(disturbed, tmp_path):
    with running_cluster(tmp_path, 2) as lost:
        result = disturbed(lost, 2, lost.scheduler.kill)

        assert result.code == 8
        assert "The cell is void" in " ".join(result.said.split())
        until(lambda: lost.loads() == [])


def test_a_worker_that_has_stopped_is_not_waited_for(disturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_place, "SILENT_S", 8.0)
    with running_cluster(tmp_path, 2) as cluster:
        result = disturbed(cluster, 2, lambda: cluster.workers[0].send_signal(signal.SIGSTOP))

        assert result.code == 8
        assert "it has shown no life for 8 s" in " ".join(result.said.split())
        assert "failed to heartbeat" not in cluster.logs()  # so long is Dask's own patience
        cluster.workers[0].send_signal(signal.SIGCONT)
        until(lambda: cluster.loads() == [])


def test_a_load_ends_by_itself_when_its_controller_is_killed(engine, bench, cluster):
    process = bench.start(
        engine().url,
        dask=cluster.address,
        shards=2,
        concurrency=4,
        num_requests=None,
        duration=120,
    )
    until(lambda: len(cluster.loads()) == 2)
    loads = cluster.loads()
    process.kill()
    process.communicate()

    until(lambda: not any(process_of(pid) for pid in loads))


def test_more_shards_than_workers_are_refused_with_what_to_do(engine, bench, cluster):
    result = bench(engine().url, dask=cluster.address, shards=9, concurrency=9)

    assert result.code == 2
    assert "Start more workers, or ask for fewer shards" in " ".join(result.said.split())


def test_a_worker_of_another_release_is_refused(engine, bench, cluster, monkeypatch):
    monkeypatch.setattr(dask_there, "version", lambda: "9.9+aaaaaaaa")

    result = bench(engine().url, dask=cluster.address, concurrency=4)

    assert result.code == 2
    assert "and ours 9.9+aaaaaaaa" in result.said
    assert "Install there what is here" in result.said
