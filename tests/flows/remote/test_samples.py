"""A host is sampled there for as long as a cell takes, and its samples come home."""

from __future__ import annotations

import json
import os

import pytest

from flows.remote.place import RemotePlace

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


def test_samples_of_a_block_come_home_and_the_sampler_goes(shared_host, tmp_path):
    lines = tmp_path / "samples.jsonl"
    cpu = min(os.sched_getaffinity(0))
    place = RemotePlace(login=shared_host.login(), addresses={}, cpus=(cpu,))

    with place.sampled(lines, every_s=0.2):
        assert not lines.exists()
        (job,) = (shared_host.root / "jobs").glob("samples-*")
        assert os.sched_getaffinity(json.loads((job / "state.json").read_text())["pid"]) == {
            cpu
        }

    samples = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(samples) >= 2
    assert list((shared_host.root / "jobs").glob("samples-*")) == []
