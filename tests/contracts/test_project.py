"""What the project promises about itself: locked, reasoned, without foreign addresses."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import COUNTED, TIMED

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PYPROJECT = (ROOT / "pyproject.toml").read_text()
REGISTRY = re.compile(
    r"py[p]i\.|python[h]osted|registry\.[n]pm|deb\.[d]ebian|--index-url|--find-links",
    re.IGNORECASE,  # the brackets keep this file from naming what it looks for
)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|farm|root|home/\w+)/")


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


@pytest.mark.parametrize("entry", [*TIMED, *COUNTED])
def test_what_runs_alone_is_named_by_places_and_tests_that_are_there(entry):
    name, _, test = entry.partition("::")
    place = ROOT / "tests" / name

    assert place.exists()
    assert not test or f"\ndef {test}" in place.read_text()


def test_each_locked_package_has_a_version_and_hashes():
    entries = re.split(r"\n(?=[a-z0-9])", LOCK.strip())

    assert len(entries) > 40
    assert [entry[:40] for entry in entries if "==" not in entry] == []
    assert [entry[:40] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_names_no_registry():
    assert REGISTRY.findall(LOCK) == []


def test_each_direct_dependency_is_in_the_lock():
    project = tomllib.loads(PYPROJECT)["project"]
    direct = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.split(r"[>\[=]", line)[0].lower() for line in direct}
    locked = set(re.findall(r"^([a-z0-9_.-]+)==", LOCK, re.MULTILINE))

    assert names - locked == set()


def test_each_run_time_dependency_has_its_reason_beside_it():
    runtime_block = PYPROJECT.split("dependencies = [")[1].split("]")[0]
    lines = [line for line in runtime_block.splitlines() if line.strip()]

    assert lines
    assert [line for line in lines if not re.search(r"#\s+\w.{10,}", line)] == []


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE_PATH], ids=["registry", "machine path"])
def test_no_file_names_a_registry_or_a_path_of_one_machine(pattern):
    this_file = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in tracked_files()
        if path != this_file and path.suffix not in {".png", ".parquet"} and path.is_file()
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]

    assert found == []
