from __future__ import annotations

import os
import socket
import sys

import pytest

from flows.doctor.tools import engines, has_stamps, imported_prefect, package_version


def test_this_kernel_stamps_what_arrives():
    assert has_stamps() is sys.platform.startswith("linux")


def test_a_kernel_that_begins_to_stamp_a_few_bytes_late_is_one_that_stamps(monkeypatch):
    received = socket.socket.recvmsg
    seen = []

    def late(near, size, room):
        seen.append(received(near, size, room))
        return seen[-1] if len(seen) > 3 else (seen[-1][0], [], *seen[-1][2:])

    monkeypatch.setattr(socket.socket, "recvmsg", late)

    assert has_stamps() is sys.platform.startswith("linux")
    assert len(seen) > 3


def test_a_kernel_that_never_stamps_is_told_apart(monkeypatch):
    received = socket.socket.recvmsg

    def bare(near, size, room):
        data, _, *rest = received(near, size, room)
        return (data, [], *rest)

    monkeypatch.setattr("flows.doctor.tools._STAMPS_S", 0.1)
    monkeypatch.setattr(socket.socket, "recvmsg", bare)

    assert has_stamps() is False


def test_engines_are_those_of_the_templates_without_the_simulation():
    found = {engine.runtime: engine for engine in engines()}

    assert "rehearsal" not in found
    assert found["llama_server"].programs == ("llama-server",)
    assert "xllamacpp" in found["llama_server"].packages


def test_an_installed_package_has_a_version_and_another_has_none():
    assert package_version("pytest") == pytest.__version__
    assert package_version("no-such-package-here") is None


@pytest.mark.e2e
def test_prefect_is_imported_by_a_process_of_its_own_and_leaves_nothing_at_home(tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    version, reason = imported_prefect(environment)

    assert version is not None, reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.e2e
def test_a_prefect_that_cannot_be_imported_says_why(tmp_path):
    (tmp_path / "prefect.py").write_text("raise ImportError('a part is missing')")

    version, reason = imported_prefect({"PYTHONPATH": str(tmp_path)})

    assert version is None
    assert reason == "ImportError: a part is missing"
