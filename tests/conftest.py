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


# what measures time on this machine, or judges who else uses it, runs with nothing beside it
TIMED = (
    "e2e/bench",
    "e2e/campaign",
    "e2e/collect",
    "e2e/engines",
    "e2e/machines",
    "flows/amazon/test_joined.py",
    "flows/load",
    "flows/measuring",
    "flows/remote/test_campaign_on_a_host.py",
    "flows/remote/test_candidate.py",
    "flows/remote/test_place.py",
    "flows/remote/test_samples.py",
    "flows/system",
    "flows/telemetry",
    "flows/test_foreign_load.py",
    "flows/test_host_counters.py",
    "flows/test_visiting.py",
    "reports/cell/test_rehearsed.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what must run alone, by the place that it lies in."""
    place = item.path.relative_to(ROOT / "tests").as_posix()
    if item.get_closest_marker("e2e") is not None and place.startswith(TIMED):
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
