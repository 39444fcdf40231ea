"""Tests run apart from the user's shell: own environment, loopback only."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine fails no property
settings.load_profile("untimed")
if threading.current_thread() is threading.main_thread():
    # Started in the background by a script or under nohup, all that tests start would be deaf.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.environ["RUNOFF_LOOPBACK_ONLY"] = "1"  # inherited by every process that a test starts


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on what the caller's shell happens to export."""
    for name in list(os.environ):
        if name.startswith(("RUNOFF_", "HF_", "AWS_", "PREFECT_")) and name not in (
            "RUNOFF_LOOPBACK_ONLY",
            "RUNOFF_REQUIRE_ALL",
            "RUNOFF_TEST_VLLM",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")


ROOT = Path(__file__).parents[1]
# read before tests lose their shell's names
NAMED = {name: os.environ.get(name) for name in ("RUNOFF_LLAMA_SERVER", "RUNOFF_VLLM_PYTHON")}


def newest(paths: Iterable[Path]) -> Path | None:
    """The newest installation: one is made anew whenever its script changes."""
    return max(paths, key=lambda path: path.stat().st_mtime, default=None)


def refuse_or_skip(reason: str) -> None:
    """A part that is not there fails where everything must be there."""
    if os.environ.get("RUNOFF_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def openssl() -> str:
    """The program that signs a test's certificates."""
    found = shutil.which("openssl")
    if found is None:
        refuse_or_skip("no openssl: install Debian's package of that name")
    return found


@pytest.fixture(scope="session")
def llama_server() -> str:
    """llama-server: RUNOFF_LLAMA_SERVER, on PATH, or compiled by `make engines`."""
    named = NAMED["RUNOFF_LLAMA_SERVER"] or shutil.which("llama-server")
    made = newest((ROOT / ".llama").glob("*/installed.json"))
    if named is None and made is None:
        refuse_or_skip("no llama-server: run make engines")
    return named or str(made.parent / "venv" / "bin" / "llama-server")


@pytest.fixture(scope="session")
def vllm_python() -> str:
    """The Python of vLLM's environment: RUNOFF_VLLM_PYTHON, or what `make engines` made."""
    if os.environ.get("RUNOFF_TEST_VLLM") != "1":
        refuse_or_skip("RUNOFF_TEST_VLLM is not 1")
    named = NAMED["RUNOFF_VLLM_PYTHON"]
    made = newest((ROOT / ".venv-vllm").glob("*/installed.json"))
    if named is None and made is None:
        pytest.fail("no vLLM for CPUs: run make engines")
    return named or str(made.parent / "venv" / "bin" / "python")


# what judges time on this machine, or who else uses it, runs with nothing beside it
TIMED = (
    "e2e/bench",
    "e2e/campaign/test_reevaluate.py",
    "e2e/machines/test_clocks.py",
    "flows/load",
    "flows/remote/test_place.py",
    "flows/telemetry/test_sampler.py::test_energy",
    "flows/telemetry/test_sampler.py::test_every_device",
    "flows/telemetry/test_sampler.py::test_lines_become",
    "flows/test_foreign_load.py",
    "reports/cell/test_rehearsed.py",
)
# of these, what only counts and reads: no clause, no latency and no busy machine is judged
COUNTED = (
    "e2e/bench/test_answers.py::test_a_failure",
    "e2e/bench/test_answers.py::test_a_server_that_hangs",
    "e2e/bench/test_answers.py::test_chunks_that_arrive_in_bunches",
    "e2e/bench/test_answers.py::test_one_hundred_thousand",
    "e2e/bench/test_answers.py::test_without_usage",
    "e2e/bench/test_client.py::test_a_client_that_is_kept_from_running",
    "e2e/bench/test_client.py::test_a_folder_of_the_users",
    "e2e/bench/test_client.py::test_a_key",
    "e2e/bench/test_client.py::test_a_killed_command",
    "e2e/bench/test_client.py::test_a_reader_who_leaves",
    "e2e/bench/test_client.py::test_a_server_without_metrics",
    "e2e/bench/test_client.py::test_an_ending_before_the_load",
    "e2e/bench/test_client.py::test_ctrl_c",
    "e2e/bench/test_client.py::test_json_for_a_dash",
    "e2e/bench/test_client.py::test_other_signals",
    "e2e/bench/test_client.py::test_somebody_elses",
    "e2e/bench/test_load.py::test_a_trace",
    "e2e/bench/test_load.py::test_adaptive_warmup",
    "e2e/bench/test_load.py::test_shards_measure",
    "e2e/bench/test_load.py::test_the_lessons_command",
    "e2e/bench/test_load.py::test_without_warmup",
    "e2e/bench/test_prompts.py::test_a_declared",
    "e2e/bench/test_prompts.py::test_a_second_run",
    "e2e/bench/test_prompts.py::test_a_trace",
    "e2e/bench/test_prompts.py::test_sessions",
    "e2e/bench/test_tls.py",
)


# the Makefile's shares of tests of processes: three quarters of all modules have none of them
SHARES = ("e2e and not timed", "timed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave modules unread in which no test can be of the share; each worker saves seconds."""
    is_module = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if not is_module or config.getoption("markexpr") not in SHARES:
        return None
    return None if b"mark.e2e" in collection_path.read_bytes() else True


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what must run alone, by the place that it lies in."""
    place = item.nodeid.removeprefix("tests/")
    is_timed = place.startswith(TIMED) and not place.startswith(COUNTED)
    if item.get_closest_marker("e2e") is not None and is_timed:
        item.add_marker(pytest.mark.timed)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the groups of tests that pytest-xdist must send to one worker.

    pytest-xdist 3.8 writes a group's name behind the test's, where pytest 9.2 does not read it:
    without this, load tests run side by side and servers that they share start twice.
    """
    for item in items:
        grouped = vars(item).get("_nodeid")
        if grouped is not None:
            item._id = type(item._id).parse(grouped)
