"""Which processes live."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.launch.clock import SystemClock
from flows.launch.ending import Step, end
from flows.launch.processes import Family, process_of

pytestmark = pytest.mark.e2e
HEADLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def headless():
    """A process whose first thread has ended and whose second has not."""
    started = subprocess.Popen([sys.executable, "-c", HEADLESS], start_new_session=True)
    until_s = time.monotonic() + 30
    while state(started.pid) != "Z" and time.monotonic() < until_s:
        time.sleep(0.01)
    yield started
    started.kill()
    started.wait()


def test_a_process_lives_until_the_last_of_its_threads_has_ended(headless):
    assert state(headless.pid) == "Z"
    assert process_of(headless.pid).pid == headless.pid


def test_one_whose_first_thread_has_ended_is_ended_with_its_family(headless):
    step = Step(signal="SIGKILL", patience_s=10.0)

    ended = end(Family(leader=headless.pid, mark="-"), [step], SystemClock())

    assert ended.left == ()
    assert headless.wait(timeout=1) == -signal.SIGKILL


def test_a_zombie_of_one_thread_is_gone():
    with subprocess.Popen(["/bin/true"]) as dead:
        until_s = time.monotonic() + 30
        while state(dead.pid) != "Z" and time.monotonic() < until_s:
            time.sleep(0.01)
        assert process_of(dead.pid) is None
