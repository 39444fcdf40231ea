from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from flows.preflight import Probes
from flows.preflight.probes import Reached
from flows.system.facts import Core
from flows.system.here import facts_here


@pytest.fixture
def world() -> Probes:
    """A machine on which nothing stands in the way: 4 cores, 16 GiB, quiet, all installed."""
    here = facts_here("local", dt.datetime(2026, 8, 25, 12, 0, tzinfo=dt.UTC))
    system = replace(
        here,
        cpu=replace(
            here.cpu,
            allowed=(0, 1, 2, 3),
            cores=tuple(Core(socket=0, cpus=(cpu,)) for cpu in range(4)),
        ),
        memory=replace(here.memory, total_bytes=2**34, available_bytes=2**34),
        limits=replace(here.limits, cgroup_memory_bytes=None, open_files_most=4096),
    )
    return Probes(
        environment={},
        system=system,
        program=lambda name: f"/usr/bin/{name}",
        exists=lambda path: True,
        has_module=lambda name: True,
        room=lambda folder: 2**40,
        disk=lambda folder: 1,
        kept=lambda folder: 0,
        unwritable=lambda folder: None,
        taken=lambda host, port: None,
        ask=lambda url, headers: Reached(status=200, models=("tiny-llama-110m",)),
        load=lambda: None,
        holder=lambda: None,
    )
