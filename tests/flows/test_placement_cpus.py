from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.errors import InfrastructureError
from flows.placement_cpus import place
from flows.system.facts import Core

TWO = (Core(socket=0, cpus=(0,)), Core(socket=0, cpus=(1,)))
THREADS = (Core(socket=0, cpus=(0, 2)), Core(socket=0, cpus=(1, 3)))


def test_the_load_gets_the_cores_that_the_server_leaves():
    found = place("x", [0], [0, 1], TWO)

    assert (found.server, found.load, found.threat) == ((0,), (1,), None)


def test_the_other_thread_of_a_servers_core_is_not_free():
    found = place("x", [0], [0, 1, 2, 3], THREADS)

    assert (found.load, found.threat) == ((1, 3), None)


def test_where_only_the_other_threads_are_left_the_load_takes_them_and_it_is_a_threat():
    found = place("x", [0, 1], [0, 1, 2, 3], THREADS)

    assert found.load == (2, 3)
    assert "hardware threads of the server's own physical cores" in found.threat


def test_a_server_on_all_cpus_leaves_none():
    found = place("x", [0, 1], [0, 1], TWO)

    assert found.load is None
    assert "leave it a core, or load from another host" in found.threat


@pytest.mark.parametrize(
    ("allowed", "cores", "advice"),
    [
        ([0, 1], TWO, "state cpus: [0] in its settings"),
        ([0, 1, 2, 3], THREADS, "state cpus: [0, 2] in its settings"),
        ([0, 1], (), "state cpus: [0] in its settings"),
        ([1], TWO, "load from another host"),
    ],
)
def test_a_server_that_is_bound_to_nothing_is_a_threat_with_the_way_out(allowed, cores, advice):
    found = place("x", [], allowed, cores)

    assert found.load is None
    assert found.threat.endswith(advice)


def test_a_cpu_that_may_not_be_used_is_refused_by_name():
    with pytest.raises(InfrastructureError, match=r"'x', settings.cpus: CPU 7 is not"):
        place("x", [0, 7], [0, 1], TWO)


@given(
    allowed=st.frozensets(st.integers(0, 15), min_size=1),
    threads=st.sampled_from([1, 2, 4]),
    data=st.data(),
)
def test_server_and_load_never_share_a_cpu_nor_without_a_threat_a_core(allowed, threads, data):
    stated = data.draw(st.frozensets(st.sampled_from(sorted(allowed)), min_size=1))
    width = 16 // threads
    cores = [Core(socket=0, cpus=tuple(range(first, 16, width))) for first in range(width)]

    found = place("x", sorted(stated), sorted(allowed), cores)

    load = set(found.load or ())
    assert not load & stated
    assert load <= allowed
    if found.threat is None:
        assert load
        assert not any(set(core.cpus) & load and set(core.cpus) & stated for core in cores)


@pytest.mark.e2e
def test_a_placement_can_be_given_to_a_real_process():
    allowed = sorted(os.sched_getaffinity(0))
    found = place("x", allowed[:1], allowed, ())
    cpus = found.load or found.server

    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as process:
        os.sched_setaffinity(process.pid, cpus)
        bound = os.sched_getaffinity(process.pid)
        process.stdin.close()

    assert bound == set(cpus)
