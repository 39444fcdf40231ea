"""What travels to a host runs there on its Python alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flows.machine.shipped import SHIPPED

ROOT = Path(__file__).parents[3]


@pytest.fixture
def there(tmp_path) -> Path:
    for name in ("flows/__init__.py", *SHIPPED):
        place = tmp_path / "there" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place)
    return tmp_path / "there"


def run(there: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-s", *words],  # -S: no package but the standard library's
        cwd=there,
        env={**os.environ, "PYTHONPATH": str(there)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.e2e
def test_every_shipped_module_needs_the_standard_library_alone(there):
    modules = [name.removesuffix(".py").replace("/", ".") for name in SHIPPED]
    code = f"import {', '.join(each for each in modules if '__' not in each)}"

    done = run(there, "-c", code)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.e2e
def test_the_programs_run_there(there, smi, tmp_path):
    sampled = run(there, "-m", "flows.telemetry", str(tmp_path / "lines"), "--most", "1")
    undone = run(there, "-m", "flows.control", "restore", str(tmp_path / "state"))

    assert (sampled.returncode, sampled.stderr) == (0, "")
    assert '"ended"' in (tmp_path / "lines").read_text()
    assert (undone.returncode, undone.stdout) == (0, "nothing was left\n")
