"""The command line finds its verbs, and each way of ending has its exit code."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from catalog.errors import CatalogError
from catalog.load import shipped_catalog
from flows import cli
from flows.errors import (
    BudgetStop,
    EvidenceError,
    ExitCode,
    Finished,
    InfrastructureError,
    NothingSurvives,
    StillBilled,
    UsageError,
)
from reports.errors import unwritten

CANONICAL = shipped_catalog() / "campaigns" / "canonical.yaml"
ENDINGS = [
    (CatalogError("file.yaml:3", "seen", "Do this"), 2),
    (UsageError("--rate", "seen", "Do this"), 2),
    (NothingSurvives("screen", "seen", "Do this"), 3),
    (EvidenceError("cell", "seen", "Do this"), 7),
    (InfrastructureError("launch", "seen", "Do this"), 8),
    (BudgetStop("budget", "seen", "Do this"), 9),
    (StillBilled("aws", "seen", "Do this"), 10),
]


@pytest.fixture
def verb_that_raises(monkeypatch):
    def plant(error: BaseException) -> None:
        def command() -> None:
            raise error

        module = types.SimpleNamespace(command=command)
        monkeypatch.setattr(cli, "verbs", lambda: {"try": "try_"})
        monkeypatch.setattr(cli, "verb_module", lambda name: module)

    return plant


@pytest.mark.parametrize(("error", "code"), ENDINGS)
def test_each_error_has_its_exit_code_and_says_where_what_and_what_to_do(
    verb_that_raises, capsys, error, code
):
    verb_that_raises(error)

    assert cli.run(["try"]) == code
    assert f"{error.where}: seen. Do this" in capsys.readouterr().err


@pytest.mark.parametrize("code", list(ExitCode))
def test_a_verb_can_end_with_any_code_of_the_table(verb_that_raises, code):
    verb_that_raises(Finished(code))

    assert cli.run(["try"]) == code


def test_an_interrupt_ends_with_130(verb_that_raises):
    verb_that_raises(KeyboardInterrupt())

    assert cli.run(["try"]) == 130


def test_a_bug_is_called_a_bug_and_its_traceback_comes_only_on_request(
    verb_that_raises, capsys
):
    verb_that_raises(ZeroDivisionError("by zero"))

    assert cli.run(["try"]) == 1
    assert "bug in runoff: ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        cli.run(["try", "--debug"])


@pytest.mark.parametrize("arguments", [["nonsense"], ["screen", "--no-such-flag"]])
def test_an_unknown_verb_or_flag_is_a_usage_error(arguments, capsys):
    assert cli.run(arguments) == 2
    assert "No such" in capsys.readouterr().err


def test_the_version_is_the_installed_ones(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"runoff {importlib.metadata.version('runoff')}\n"


def test_options_beside_every_verb_are_in_the_help(capsys):
    assert cli.run(["--help"]) == 0

    said = capsys.readouterr().out
    assert "--version" in said
    assert "--debug" in said


def test_a_new_verb_is_one_new_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "greet_twice.py").write_text(
        'def command() -> None:\n    """Greet."""\n    print("hello hello")\n'
    )
    monkeypatch.setattr(cli.commands, "__path__", [*cli.commands.__path__, str(tmp_path)])

    assert cli.run(["greet-twice"]) == 0
    assert capsys.readouterr().out == "hello hello\n"


def test_help_starts_without_prefect_boto3_paramiko_or_pandas():
    probe = (
        "import sys; from flows.cli import run; run(['--help']);"
        "heavy = {'prefect', 'boto3', 'paramiko', 'pandas', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "screen" in done.stdout


@pytest.mark.parametrize(
    "verb", ["--help", "catalog show devices", f"screen {CANONICAL} --explain"]
)
def test_a_reader_that_goes_away_is_no_failure(verb):
    command = f"set -o pipefail; {sys.executable} -m flows.cli {verb} | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_another_pipe_that_breaks_is_a_failure(verb_that_raises, capsys):
    verb_that_raises(BrokenPipeError(32, "Broken pipe"))

    assert cli.run(["try"]) == ExitCode.INFRASTRUCTURE
    assert "went away" in capsys.readouterr().err


def test_a_full_disk_is_said_and_is_no_bug():
    command = f"{sys.executable} -m flows.cli catalog show devices > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert done.stderr.startswith("runoff: standard output: No space left on device")


def test_a_disk_that_fills_up_is_no_mistake_of_the_user(verb_that_raises, capsys):
    """As while a campaign is concluded: what was measured is there, and room makes it whole."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    verb_that_raises(unwritten(Path("runs/summary.json"), full))

    assert cli.run(["try"]) == ExitCode.INFRASTRUCTURE
    assert "No space left on device. Make room" in capsys.readouterr().err


def test_a_closed_standard_output_is_no_bug():
    command = f"{sys.executable} -m flows.cli catalog show devices >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
