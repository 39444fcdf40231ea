"""Load runs on a host beside the server; its raw files come home whole, or the reason does."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from flows.bench.shard import Job
from flows.errors import InfrastructureError, UsageError
from flows.launch.processes import process_of
from flows.load.plan import Endpoint, PlanHeader, PlannedRequest, Warmup, write_plan
from flows.load.raw import read_raw
from flows.rehearsal import start
from flows.remote.job import begin
from flows.remote.job_folder import state_of
from flows.remote.place import RemotePlace, readdress
from tests.flows.remote.hosts import until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
HERE = "http://127.0.0.1:9"  # nobody listens there: the load must go where the place says


def plan(path: Path, *, requests: int = 3, think_ns: int = 0) -> Job:
    header = PlanHeader(
        run="r",
        cell="c",
        replication=0,
        shard=0,
        seed=1,
        endpoints=(Endpoint(url=f"{HERE}/v1/completions", headers={"x-key": "planted"}),),
        arrival="closed",
        concurrency=1,
        offered_rate=None,
        timeout_s=5.0,
        warmup=Warmup(mode="fixed", requests=0),
        measured_requests=requests,
        duration_s=None,
        dialect="completions",
    )
    request = PlannedRequest(
        sequence=0,
        at_ns=None,
        session=0,
        turn=0,
        think_ns=think_ns,
        endpoint=0,
        prompt_id=0,
        prompt_tokens=1,
        output_tokens=1,
        body='{"prompt": [5], "max_tokens": 1, "stream": true}',
    )
    write_plan(
        path,
        header,
        [replace(request, sequence=n, turn=n, prompt_id=n) for n in range(requests)],
    )
    return Job(plan=path, raw=path.with_suffix(".raw"))


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with start() as server:
        yield server.url


@pytest.fixture
def place_of(shared_host, server_url) -> Callable[..., RemotePlace]:
    def make(**changes: object) -> RemotePlace:
        words = {"login": shared_host.login(), "addresses": {HERE: server_url}, **changes}
        return RemotePlace(**words)

    return make


def outcomes(job: Job) -> list[str]:
    return [request.outcome for request in read_raw(job.raw).requests]


def test_shards_run_side_by_side_and_leave_raw_files_here_alone(
    place_of, shared_host, tmp_path
):
    jobs = [plan(tmp_path / f"plan-{number}.jsonl") for number in range(2)]

    with place_of().opened() as there:
        interrupted = there.run(jobs, meanwhile=lambda: 9.0)
        foreign = there.foreign()

    assert not interrupted
    assert [outcomes(job) for job in jobs] == [["complete"] * 3] * 2
    assert foreign["samples"] >= 1
    assert list((shared_host.root / "jobs").glob("load-*")) == []
    assert b"planted" not in b"".join(job.raw.read_bytes() for job in jobs)


def test_the_load_is_held_to_its_cpus(place_of, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    job = plan(tmp_path / "plan.jsonl", requests=2, think_ns=1_000_000_000)
    held = []

    def meanwhile() -> float:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if b"flows.load\0plan.jsonl" in path.read_bytes():
                    held.append(os.sched_getaffinity(int(path.parent.name)))
        return 0.2

    with place_of(cpus=(cpu,)).opened() as there:
        there.run([job], meanwhile=meanwhile)

    assert held
    assert all(cpus == {cpu} for cpus in held)


def test_the_hosts_clock_is_read_beside_the_load(place_of, tmp_path):
    job = plan(tmp_path / "plan.jsonl")
    with place_of().opened() as there:
        before_ns = there.now_ns()
        there.run([job], meanwhile=lambda: 9.0)
        after_ns = there.now_ns()
        error_ns = there.offset.error_ns
    run = read_raw(job.raw)

    assert before_ns - error_ns <= run.started_ns <= run.ended_ns <= after_ns + error_ns


def test_a_load_whose_connection_is_cut_goes_on_and_comes_home(
    place_of, shared_host, proxied, tmp_path
):
    proxy = proxied(shared_host)
    job = plan(tmp_path / "plan.jsonl", requests=4, think_ns=300_000_000)
    cuts = []

    def meanwhile() -> float:
        proxy.cut()
        cuts.append(1)
        return 0.6

    with place_of(login=shared_host.login(port=proxy.port)).opened() as there:
        there.run([job], meanwhile=meanwhile)

    assert cuts
    assert outcomes(job) == ["complete"] * 4
    assert read_raw(job.raw).complete


def test_an_interrupted_load_brings_home_what_it_has_measured(place_of, tmp_path):
    job = plan(tmp_path / "plan.jsonl", requests=4, think_ns=30_000_000_000)
    asked = []

    def meanwhile() -> float:
        asked.append(1)
        if len(asked) > 1:
            raise KeyboardInterrupt
        return 1.0

    with place_of().opened() as there:
        interrupted = there.run([job], meanwhile=meanwhile)

    assert interrupted
    assert not read_raw(job.raw).complete
    assert outcomes(job)[0] == "complete"


def test_the_end_of_the_server_ends_the_load(place_of, box, tmp_path):
    name = f"server-{os.getpid()}-{threading.get_ident()}"
    server = begin(box, name, ["/bin/sh", "-c", "exec sleep 600"])
    job = plan(tmp_path / "plan.jsonl", requests=4, think_ns=30_000_000_000)
    asked = []

    def meanwhile() -> float:
        asked.append(1)
        if len(asked) == 2:
            os.kill(server.seen["pid"], signal.SIGKILL)
        return 0.5

    with place_of(server=server.folder).opened() as there:
        there.run([job], meanwhile=meanwhile)

    assert not read_raw(job.raw).complete


def test_a_load_that_cannot_run_is_told_in_the_load_processs_words(place_of, tmp_path):
    job = plan(tmp_path / "plan.jsonl")
    away = {HERE: "http://192.0.2.1:80"}

    with (
        place_of(addresses=away).opened() as there,
        pytest.raises(InfrastructureError, match=r"code 2 and no raw file: .*192"),
    ):
        there.run([job], meanwhile=lambda: 9.0)


def test_a_disk_that_fills_up_beside_a_load_is_told_and_nothing_goes_on(
    make_host, small_disk, server_url, tmp_path
):
    there = make_host()
    there.root.mkdir()
    (there.root / "jobs").symlink_to(small_disk)
    job = plan(tmp_path / "plan.jsonl", requests=6, think_ns=500_000_000)
    asked = []

    def fill() -> float:
        asked.append(1)
        if len(asked) == 2:
            with suppress(OSError), (small_disk / "others").open("wb") as file:
                while True:
                    file.write(bytes(1 << 12))
        return 0.5

    place = RemotePlace(login=there.login(), addresses={HERE: server_url})
    with (
        place.opened() as host,
        pytest.raises(InfrastructureError, match="No space left on device"),
    ):
        host.run([job], meanwhile=fill)

    (small_disk / "others").unlink()
    ours = [state_of(each) for each in small_disk.iterdir()]
    until(lambda: not any(lives(each["pid"]) for each in ours if "pid" in each))
    assert not job.raw.exists()


def lives(pid: int) -> bool:
    return process_of(pid) is not None


def test_a_plan_is_readdressed_and_otherwise_the_same(tmp_path):
    job = plan(tmp_path / "plan.jsonl")
    target = tmp_path / "there"

    readdress(job.plan, target, {HERE: "http://127.0.0.1:8000"})

    before, after = (path.read_text().splitlines() for path in (job.plan, target))
    assert after[1:] == before[1:]
    [endpoint] = json.loads(after[0]).pop("endpoints")
    assert endpoint["url"] == "http://127.0.0.1:8000/v1/completions"
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_server_that_the_host_cannot_name_is_refused(tmp_path):
    job = plan(tmp_path / "plan.jsonl")

    with pytest.raises(UsageError, match="no address for it"):
        readdress(job.plan, tmp_path / "there", {"http://127.0.0.1:99": "http://127.0.0.1:1"})
