"""Imports go one way, and the contracts that say so really catch a violation."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("catalog", "deploy_templates", "flows", "reports")
PLANTED = [
    ("catalog/errors.py", "import flows.errors", "catalog knows none of the others"),
    (
        "deploy_templates/planted.py",
        "import reports",
        "deploy_templates knows only the catalog",
    ),
    ("reports/planted.py", "import flows.errors", "reports knows only the catalog"),
    ("reports/planted.py", "import deploy_templates", "reports knows only the catalog"),
    ("flows/load/plan.py", "import pandas", "the load generator ships alone"),
    ("flows/load/plan.py", "import catalog.errors", "the load generator ships alone"),
]


@pytest.fixture
def copy(tmp_path):
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            tmp_path / package,
            ignore=lambda _, names: [n for n in names if not n.endswith(".py") and "." in n],
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r});"
        "from importlinter.cli import lint_imports_command; lint_imports_command()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.e2e
@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_import_breaks_its_contract(copy, file, line, contract):
    with (copy / file).open("a") as module:
        module.write(f"\n{line}\n")

    done = lint_imports(copy)

    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout


@pytest.mark.e2e
def test_the_project_keeps_its_contracts(copy):
    done = lint_imports(copy)

    assert done.returncode == 0, done.stdout
