"""What the page of recipes says is done, in a copy of the project, and the new parts work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reports.runs import concluded

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
FILES = re.findall(r"`(\S+\.(?:py|yaml|j2))`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)
STEPS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
PACKAGES = ("catalog", "deploy_templates", "flows", "reports")
CLOUD = """
from flows.clouds import all_clouds, cloud_of
print([cloud.name for cloud in all_clouds()], cloud_of("lab:b", None, "x").name)
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with every recipe followed."""
    folder = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for step in STEPS:
        subprocess.run(["sh", "-ec", step], cwd=folder, check=True)
    for name, text in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def python(copy: Path) -> Run:
    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *words],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "160"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def runoff(python: Run) -> Run:
    return lambda *words: python("-m", "flows.cli", *words)


def test_the_page_has_a_recipe_for_each_kind_of_part() -> None:
    assert [name for name, _ in FILES] == [
        "mine/devices/acme-g1.yaml",
        "mine/offers/acme.yaml",
        "ours.yaml",
        "flows/clouds/lab.py",
        "catalog/gates/approved.py",
        "reports/sections/s17_house.py",
        "reports/sections/s17_house.html.j2",
    ]
    assert len(STEPS) == 1


@pytest.mark.e2e
def test_a_runtime_a_device_and_an_offer_of_ones_own_stand_for_a_campaign(runoff: Run) -> None:
    assert "our_vllm" in runoff("catalog", "show", "runtimes", "--catalog", "mine")

    said = runoff("screen", "ours.yaml", "--catalog", "mine", "--today", "2026-11-30")
    assert "Acme G1 48GB" in said
    assert "our_vllm 0.6.3" in said
    assert "$1.90/h" in said
    assert "1 pass" in said


@pytest.mark.e2e
def test_a_gate_of_ones_own_takes_its_place_and_votes(runoff: Run) -> None:
    said = runoff("screen", "catalog/campaigns/canonical.yaml", "--explain")

    rows = [line.split()[:2] for line in said.partition("Gates")[2].splitlines()[2:5]]
    assert rows[0] == ["0", "support"]
    assert "approved" in rows[1]
    assert "Intel is not approved" in said


@pytest.mark.e2e
def test_a_cloud_of_ones_own_is_found_by_what_a_campaign_says(python: Run) -> None:
    assert python("-c", CLOUD).strip() == "['aws', 'lab', 'local', 'ssh_hosts'] lab"


@pytest.mark.e2e
def test_a_section_of_ones_own_is_on_the_page(runoff: Run, tmp_path: Path) -> None:
    folder = concluded(tmp_path / "run", "exploratory")
    page = tmp_path / "page.html"

    runoff("report", str(folder.path), "--html", str(page))

    text = page.read_text(encoding="utf-8")
    assert "For our approval board" in text
    assert "Candidates before the board: B, C." in text
