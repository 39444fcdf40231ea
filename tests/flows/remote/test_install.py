"""A release is put on a host by its plan's own script, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy_templates.plan import Install
from flows.errors import InstallError
from flows.remote.install import remote_install
from tests.flows.launch.conftest import port, rehearsal_plan, script_plan

__all__ = ["port", "rehearsal_plan", "script_plan"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


@pytest.fixture
def plan_of(rehearsal_plan):
    def make(script: str):
        return replace(rehearsal_plan(), install=Install(mode="venv", script=script))

    return make


def test_a_script_runs_once_and_its_packages_are_told(box, plan_of, tmp_path):
    plan = plan_of(
        f"echo x >> {tmp_path}/runs; mkdir -p $1; echo engine==1 > $1/installed.txt\n"
        'test -x "$PYTHON" && echo installing engine'
    )
    said = []

    first = remote_install(box, plan, progress=said.append)
    second = remote_install(box, plan)

    assert (first.made, second.made) == (True, False)
    assert first.packages == second.packages == ("engine==1",)
    assert (tmp_path / "runs").read_text() == "x\n"
    assert (first.environment / "installed.txt").exists()
    assert said == ["installing engine"]


def test_a_script_that_fails_is_told_with_its_last_lines_and_runs_again(box, plan_of, tmp_path):
    plan = plan_of(f"echo x >> {tmp_path}/runs; echo no wheel fits >&2; exit 3")

    for _ in range(2):
        with pytest.raises(InstallError, match="ended with code 3: no wheel fits"):
            remote_install(box, plan)

    assert (tmp_path / "runs").read_text() == "x\nx\n"


def test_a_script_that_takes_too_long_is_ended(box, plan_of):
    with pytest.raises(InstallError, match=r"took longer than 0\.2 s: begun"):
        remote_install(box, plan_of("echo begun; exec sleep 600"), limit_s=0.2)
