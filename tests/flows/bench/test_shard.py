"""The load process as a job: what it leaves, and what it says when it cannot."""

from __future__ import annotations

import threading

import pytest

from flows.bench.shard import run_shard
from flows.errors import InfrastructureError
from flows.load.plan import (
    Endpoint,
    PlanHeader,
    PlannedRequest,
    Warmup,
    write_plan,
)
from flows.load.raw import read_raw
from flows.rehearsal import start


def plan(path, url):
    header = PlanHeader(
        run="r",
        cell="c",
        replication=0,
        shard=0,
        seed=1,
        endpoints=(Endpoint(url=url + "/v1/completions"),),
        arrival="closed",
        concurrency=1,
        offered_rate=None,
        timeout_s=5.0,
        warmup=Warmup(mode="fixed", requests=0),
        measured_requests=1,
        duration_s=None,
        dialect="completions",
    )
    request = PlannedRequest(
        sequence=0,
        at_ns=None,
        session=0,
        turn=0,
        think_ns=0,
        endpoint=0,
        prompt_id=0,
        prompt_tokens=1,
        output_tokens=1,
        body='{"prompt": [5], "max_tokens": 1, "stream": true}',
    )
    write_plan(path, header, [request])


def test_a_shard_needs_a_plan_and_leaves_a_raw_file_also_from_another_thread(tmp_path):
    """Other schedulers run shards in threads of theirs, where no signal handler may be set."""
    with start() as server:
        plan(tmp_path / "plan", server.url)
        thread = threading.Thread(target=run_shard, args=(tmp_path / "plan", tmp_path / "raw"))
        thread.start()
        thread.join()

    assert [request.outcome for request in read_raw(tmp_path / "raw").requests] == ["complete"]


def test_a_plan_that_cannot_be_read_is_told_in_the_load_processs_words(tmp_path):
    (tmp_path / "plan").write_text("nonsense")

    with pytest.raises(InfrastructureError, match="plan:1") as caught:
        run_shard(tmp_path / "plan", tmp_path / "raw")

    assert "code 2" in str(caught.value)


def test_a_system_without_epoll_is_told_where_to_run_the_load(tmp_path, monkeypatch):
    monkeypatch.delattr("select.epoll")

    with pytest.raises(InfrastructureError, match="Run the load on a Linux host"):
        run_shard(tmp_path / "plan.jsonl", tmp_path / "raw")
