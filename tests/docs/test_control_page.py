"""The page on control names every setting, status, limit and reason that the code has."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from deploy_templates.control import CpuControl, DeviceControl
from flows.control.step import Status
from flows.machine.mlperf import FIELDS
from reports.checks.rules.clocks import LEAST_AT_TARGET
from reports.run.control_file import ControlStatus
from reports.run.plan_file import PRODUCTION
from reports.telemetry.summary import NEAR_MHZ
from reports.telemetry.voids import FLAGGING, MOST_STEAL, VOIDING

PAGE = (Path(__file__).parents[2] / "docs" / "control.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("asked", [DeviceControl, CpuControl])
def test_every_setting_is_on_the_page(asked) -> None:
    assert [each.name for each in fields(asked) if f"| `{each.name}` |" not in PAGE] == []


def test_every_status_is_on_the_page_and_in_the_file() -> None:
    assert get_args(Status) == get_args(ControlStatus)
    assert [word for word in get_args(Status) if f"| `{word}` |" not in PAGE] == []


@pytest.mark.parametrize(("bit", "words"), [*VOIDING.items(), *FLAGGING.items()])
def test_every_reason_is_on_the_page(bit, words) -> None:
    assert f"`{bit:#x}` {words}" in PAGE


def test_the_limits_on_the_page_are_those_of_the_rules() -> None:
    assert f"above {MOST_STEAL:.0%}" in PAGE
    assert f"{LEAST_AT_TARGET:.0%} of the samples" in PAGE
    assert f"within {NEAR_MHZ:.0f} MHz" in PAGE
    assert f"<decision point>{PRODUCTION}" in PAGE
    assert f"of the {len(FIELDS)} fields" in PAGE
