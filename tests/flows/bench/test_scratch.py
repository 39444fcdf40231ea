"""Folders that hold keys: gone with their load, or removed by the next one."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from flows.bench.scratch import scratch

PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
HOLDS = """
from flows.bench.scratch import scratch
with scratch() as folder:
    (folder / "plan").write_text("sk-rather-secret")
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_it_is_empty_private_and_gone_afterwards(root):
    with scratch() as folder:
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "plan").write_text("x")

    assert list(root.iterdir()) == []


@pytest.mark.e2e
def test_what_a_killed_one_left_is_removed_by_the_next_and_a_living_ones_stays(root):
    with (
        subprocess.Popen([sys.executable, "-c", HOLDS], **PIPES) as killed,
        subprocess.Popen([sys.executable, "-c", HOLDS], **PIPES) as living,
    ):
        left, held = (Path(each.stdout.readline().strip()) for each in (killed, living))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (left / "plan").exists()

        with scratch():
            assert not left.exists()
            assert (held / "plan").exists()
        living.stdin.close()


def test_files_and_links_of_that_name_are_left_alone(root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept").write_text("x")
    (root / "runoff-load-link").symlink_to(elsewhere)
    (root / "runoff-load-file").write_text("x")

    with scratch():
        pass

    assert (elsewhere / "kept").exists()
    assert (root / "runoff-load-file").exists()
