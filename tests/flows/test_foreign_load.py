from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.errors import InfrastructureError
from flows.foreign_load import (
    Sampler,
    Stranger,
    look,
    most_cores,
    objections,
    require_quiet,
    sampled,
)
from flows.host_counters import Counters, Task

BUSY = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"
ORPHAN = """
import subprocess, sys
print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.DEVNULL).pid)
"""


@contextmanager
def stranger() -> Iterator[int]:
    """A busy process that is no descendant of ours, for at most 20 s."""
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN, sys.executable, "-c", BUSY],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    pid = int(done.stdout)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)


def task(
    ticks: int, *, parent: int = 1, kernel: bool = False, faults: int = 0, reaped: int = 0
) -> Task:
    return Task(
        parent, 0, 0, "x", is_kernel=kernel, ticks=ticks, reaped=reaped, major_faults=faults
    )


def at(
    seconds: float, tasks: dict[tuple[int, int], Task], *, used: int, passed: int, **more
) -> Counters:
    return Counters(
        at_ns=int(seconds * 1e9),
        cpus=2,
        used=used,
        interrupts=more.get("interrupts", 0),
        stolen=more.get("stolen", 0),
        passed=passed,
        swapped_in_pages=more.get("pages", 0),
        load_1min=0.5,
        tasks=tasks,
    )


def load_of(*readings: Counters, roots: tuple[int, ...] = (10,)):
    left = iter(readings)
    sampler = Sampler(roots, now=lambda: 0, read=lambda now: next(left))
    for _ in readings[1:]:
        sampler.sample()
    return sampler.load()


def test_cores_go_to_us_to_strangers_to_the_kernel_and_to_the_unseen():
    load = load_of(
        at(
            0,
            {(10, 1): task(50), (20, 1): task(7), (2, 1): task(0, kernel=True)},
            used=0,
            passed=0,
        ),
        at(
            1,
            {(10, 1): task(100, faults=3), (20, 1): task(47), (2, 1): task(10, kernel=True)},
            used=130,
            passed=200,
            interrupts=4,
            stolen=6,
            pages=2,
        ),
    )

    assert (load.seconds, load.cpus, load.samples) == (1.0, 2, 1)
    assert load.ours_cores == 0.5
    assert load.strangers_cores == 0.4
    assert load.kernel_cores == 0.14
    assert load.hidden_cores == 0.3
    assert load.foreign_share == 0.35
    assert load.steal_share == 0.03
    assert load.major_faults == 3
    assert load.swapped_in_bytes == 2 * os.sysconf("SC_PAGE_SIZE")
    assert load.strangers == (Stranger(pid=20, name="x", cores=0.4),)


def test_a_process_born_between_two_readings_counts_whole():
    load = load_of(
        at(0, {(10, 1): task(0)}, used=0, passed=0),
        at(1, {(10, 1): task(0), (30, 9): task(20)}, used=20, passed=200),
    )

    assert (load.strangers_cores, load.hidden_cores) == (0.2, 0.0)


def test_an_id_that_was_given_to_another_process_is_another_process():
    load = load_of(
        at(0, {(30, 1): task(500)}, used=0, passed=0),
        at(1, {(30, 9): task(20)}, used=20, passed=200),
    )

    assert load.strangers_cores == 0.2


def test_children_of_ours_that_ended_between_two_readings_count_as_ours_and_once():
    load = load_of(
        at(
            0,
            {(10, 1): task(5, reaped=1000), (11, 1): task(30, parent=10, reaped=4)},
            used=0,
            passed=0,
        ),
        # 11 used 20 more and ended, as did one that no reading has seen and that used 50
        at(1, {(10, 1): task(15, reaped=1104)}, used=100, passed=200),
    )

    assert (load.ours_cores, load.hidden_cores, load.foreign_share) == (0.8, 0.2, 0.1)


def test_what_one_reading_misses_and_the_next_one_has_is_nobody_elses():
    load = load_of(
        at(0, {(10, 1): task(0), (11, 1): task(40, parent=10)}, used=0, passed=0),
        # 11 ended while this was read: it is gone, and 10 had not yet waited for it
        at(1, {(10, 1): task(10)}, used=60, passed=200),
        at(2, {(10, 1): task(20, reaped=90)}, used=70, passed=400),
    )

    assert (load.ours_cores, load.hidden_cores, load.foreign_share) == (0.35, 0.0, 0.0)


def test_one_of_ours_that_init_has_waited_for_takes_nothing_from_the_others():
    load = load_of(
        at(0, {(10, 1): task(0), (11, 1): task(900, parent=10)}, used=0, passed=0),
        at(1, {(10, 1): task(40)}, used=60, passed=200),
    )

    assert (load.ours_cores, load.hidden_cores) == (0.4, 0.2)


def test_programs_of_ours_that_live_shorter_than_a_sample_are_ours():
    sampler = Sampler()
    before = os.times()
    for _ in range(6):
        subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    after = os.times()
    sampler.sample()

    load = sampler.load()
    theirs = sum(after[2:4]) - sum(before[2:4])
    assert load.ours_cores * load.seconds > 0.8 * theirs > 0


def test_an_orphan_of_ours_and_its_later_children_stay_ours():
    load = load_of(
        at(0, {(10, 1): task(0), (11, 1): task(0, parent=10)}, used=0, passed=0),
        at(1, {(11, 1): task(10, parent=1), (12, 1): task(10, parent=11)}, used=20, passed=200),
    )

    assert (load.ours_cores, load.strangers_cores) == (0.2, 0.0)


def test_the_worst_sample_is_kept_beside_the_mean():
    load = load_of(
        at(0, {(20, 1): task(0)}, used=0, passed=0),
        at(1, {(20, 1): task(100)}, used=100, passed=200, stolen=20),
        at(2, {(20, 1): task(100)}, used=100, passed=400, stolen=20),
    )

    assert (load.samples, load.seconds) == (2, 2.0)
    assert (load.foreign_share, load.peak_foreign_share) == (0.25, 0.5)
    assert (load.steal_share, load.peak_steal_share) == (0.05, 0.1)


def test_a_sample_of_a_few_ticks_makes_no_peak():
    load = load_of(
        at(0, {(20, 1): task(0)}, used=0, passed=0),
        at(1, {(20, 1): task(0)}, used=0, passed=200),
        at(1.01, {(20, 1): task(2)}, used=2, passed=202),
    )

    assert load.peak_foreign_share == load.foreign_share == round(2 / 202, 6)


def test_ticks_that_do_not_add_up_make_no_share_above_one():
    load = load_of(
        at(0, {(20, 1): task(0)}, used=0, passed=0),
        at(1, {(20, 1): task(203)}, used=200, passed=200),
    )

    assert (load.foreign_share, load.peak_foreign_share) == (1.0, 1.0)


def test_two_readings_within_one_tick_are_no_sample():
    load = load_of(at(0, {}, used=5, passed=10), at(0.001, {}, used=5, passed=10))

    assert (load.samples, load.foreign_share) == (0, 0.0)


@given(
    ours=st.integers(0, 100),
    theirs=st.integers(0, 100),
    unseen=st.integers(0, 100),
    idle=st.integers(1, 100),
)
def test_what_was_used_is_dealt_out_whole(ours, theirs, unseen, idle):
    used = ours + theirs + unseen
    load = load_of(
        at(0, {(10, 1): task(0), (20, 1): task(0)}, used=0, passed=0),
        at(1, {(10, 1): task(ours), (20, 1): task(theirs)}, used=used, passed=used + idle),
    )
    dealt = load.ours_cores + load.strangers_cores + load.hidden_cores

    assert dealt == pytest.approx(2 * used / (used + idle), abs=2e-4)
    assert 0 <= load.foreign_share <= 1


QUIET = load_of(at(0, {}, used=0, passed=0), at(1, {}, used=0, passed=200))


def test_a_quiet_host_is_not_refused():
    assert objections(QUIET) == ()
    require_quiet("local", QUIET)


def test_a_busy_host_is_refused_with_the_names_and_shares_of_those_who_use_it():
    load = replace(
        QUIET, strangers_cores=0.42, strangers=(Stranger(pid=77, name="cc1plus", cores=0.42),)
    )

    with pytest.raises(InfrastructureError) as refused:
        require_quiet("local", load)

    assert str(refused.value) == (
        "host 'local': it is busy: others use 0.42 of its 2 cores, at most 0.10 may be: "
        "cc1plus (pid 77) 0.42. Stop them (kill 77), or wait until they are done"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_cores": 0.5}, "short-lived or hidden processes 0.50"),
        ({"steal_share": 0.2}, "its hypervisor takes 20% of its time, at most 5% may be"),
        ({"swapped_in_bytes": 8192}, "it reads 8192 bytes back from swap"),
    ],
)
def test_each_disturbance_is_an_objection_of_its_own(change, said):
    (found,) = objections(replace(QUIET, **change))

    assert said in found


def test_a_large_host_may_have_more_of_others():
    assert most_cores(2) == 0.1
    assert most_cores(192) == pytest.approx(3.84)
    assert objections(replace(QUIET, cpus=192, strangers_cores=3.0)) == ()


@pytest.mark.e2e
def test_a_real_stranger_is_named_and_refused():
    with stranger() as pid:
        load = look()

        found = {each.pid: each for each in load.strangers}
        assert found[pid].name.startswith("python")
        assert found[pid].cores > 0.1
        with pytest.raises(InfrastructureError, match=rf"\(pid {pid}\)"):
            require_quiet("local", load)


@pytest.mark.e2e
def test_a_busy_child_of_ours_is_no_stranger_and_a_root_makes_a_stranger_ours():
    with stranger() as pid, subprocess.Popen([sys.executable, "-c", BUSY]) as child:
        load = look([pid])
        child.kill()

    assert not {pid, child.pid} & {each.pid for each in load.strangers}
    assert load.ours_cores > 0.1


@pytest.mark.e2e
def test_a_sampler_beside_a_measurement_tells_the_load_in_strict_json():
    sampler = Sampler()
    with stranger() as pid, sampled(sampler, every_s=0.1):
        time.sleep(0.6)

    written = json.loads(json.dumps(sampler.load().to_json(), allow_nan=False))

    assert written["samples"] >= 2
    assert written["strangers_cores"] > 0.1
    assert pid in [each["pid"] for each in written["strangers"]]
    assert written["peak_foreign_share"] >= written["foreign_share"]
