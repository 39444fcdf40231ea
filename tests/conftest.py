"""Tests run apart from the user's shell: own environment, loopback only."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine fails no property
settings.load_profile("untimed")
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
