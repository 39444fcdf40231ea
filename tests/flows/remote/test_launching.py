"""A server on a host over SSH comes up, is proven ours, and goes, as one here does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy_templates.plan import LaunchPlan
from flows.launch.processes import process_of
from flows.launch.running import Running
from flows.remote.launching import remote_launch
from tests.flows.launch.conftest import gguf, llama_plan, port, rehearsal_plan, script_plan

__all__ = ["gguf", "llama_plan", "port", "rehearsal_plan", "script_plan"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(host, plan: LaunchPlan, name: str = "here-0", **options: Any) -> Running:
        settings = {"environment": {}, "secrets": {}, "limit_s": 60.0, **options}
        running.append(remote_launch(host, plan, tmp_path / "launch", name=name, **settings))
        return running[-1]

    yield begin
    for each in running:
        each.stop()


def test_a_server_on_a_host_is_ready_ours_and_stopped(
    far_host, remote, rehearsal_plan, launched, tmp_path
):
    host = remote(far_host)
    plan = rehearsal_plan()

    running = launched(host, plan)
    facts = running.facts

    assert facts.ownership.how == "by process"
    assert facts.pid in facts.ownership.pids
    assert facts.first_token.completion_tokens == 1
    assert sum(each.duration_ns or 0 for each in facts.phases) == facts.start_ns
    assert facts.port == plan.port
    assert running.is_healthy()
    assert not running.url.endswith(f":{plan.port}")

    stopped = running.stop()

    assert (stopped.exit_code, stopped.port_is_free) == (0, True)
    assert Path(stopped.log).name == "server.log.zst"
    assert process_of(facts.pid) is None
    assert (tmp_path / "launch" / "launch.json").exists()
