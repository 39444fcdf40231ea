from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deploy_templates.plan import Install, LaunchPlan
from flows.errors import ExitCode, InstallError
from flows.launch.install import Installed, install

SCRIPT = """
set -eu
mkdir -p "$1/bin"
echo run >> ../runs
echo 'xllamacpp==1' > "$1/installed.txt"
echo '["sha256:1"]' > image-digest.json
echo done
"""


@pytest.fixture
def installed(
    rehearsal_plan: Callable[..., LaunchPlan], tmp_path: Path
) -> Callable[..., Installed]:
    """What a script installs in the test's folder."""

    def run(script: str, **options: object) -> Installed:
        plan = replace(rehearsal_plan(), install=Install(mode="venv", script=script))
        return install(plan, tmp_path / "place", environment=os.environ, **options)

    return run


def test_a_script_runs_once_however_often_it_is_wanted(
    installed: Callable[..., Installed], tmp_path: Path
) -> None:
    first, second = installed(SCRIPT), installed(SCRIPT)

    assert (first.made, second.made) == (True, False)
    assert first.folder == second.folder
    assert (tmp_path / "place" / "runs").read_text() == "run\n"
    assert first.packages == ("xllamacpp==1",)
    assert first.image_digests == ("sha256:1",)
    assert (first.environment / "bin").is_dir()
    assert json.loads(json.dumps(first.to_json()))["script_sha256"] == first.script_sha256


def test_another_script_is_another_installation(installed: Callable[..., Installed]) -> None:
    assert installed(SCRIPT).folder != installed(f"{SCRIPT}# 2").folder


def test_of_two_that_want_the_same_one_the_second_waits(
    installed: Callable[..., Installed], tmp_path: Path
) -> None:
    slow = SCRIPT.replace("echo run", "sleep 0.3; echo run")
    made: list[bool] = []
    threads = [
        threading.Thread(target=lambda: made.append(installed(slow).made)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(made) == [False, False, True]
    assert (tmp_path / "place" / "runs").read_text() == "run\n"


def test_a_failed_script_is_quoted_and_runs_again_from_scratch(
    installed: Callable[..., Installed], tmp_path: Path
) -> None:
    script = (
        f"{SCRIPT}\n[ -e ../mended ] || {{ touch half; echo 'no such wheel' >&2; exit 3; }}"
    )
    with pytest.raises(
        InstallError, match=r"ended with code 3: .*done \| no such wheel"
    ) as caught:
        installed(script)
    (tmp_path / "place" / "mended").touch()
    again = installed(script)

    assert caught.value.exit_code == ExitCode.INFRASTRUCTURE
    assert "install.log" in caught.value.do
    assert again.made
    assert not (again.folder / "half").exists()


def test_a_script_without_end_is_ended_with_all_that_it_started(
    installed: Callable[..., Installed], command_lines: Callable[[], list[str]]
) -> None:
    with pytest.raises(InstallError, match=r"took longer than 0\.3 s"):
        installed("sleep 4321 & sleep 4321", limit_s=0.3)

    assert not [line for line in command_lines() if "sleep 4321" in line]


def test_a_script_is_told_line_by_line_and_knows_its_python(
    installed: Callable[..., Installed],
) -> None:
    told: list[str] = []
    installed('echo "$PYTHON"; sleep 0.4', progress=told.append)

    assert told == [sys.executable]


def test_a_place_that_cannot_be_written_is_named(
    rehearsal_plan: Callable[..., LaunchPlan], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InstallError, match="it cannot be written"):
        install(rehearsal_plan(), tmp_path / "file" / "place", environment={})
