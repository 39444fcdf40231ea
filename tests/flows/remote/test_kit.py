"""The kit needs nothing on a host but its Python."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import replace
from io import BytesIO

import pytest

from flows.errors import InfrastructureError
from flows.remote.kit import HostPython, digest, kit_for

HERE = HostPython(
    path=sys.executable,
    version=sys.version_info[:2],
    tag=sysconfig.get_config_var("SOABI"),
    machine="x86_64",
    parser=None,
)
PROGRAMS = (
    "flows.remote.agent",
    "flows.remote.keeper",
    "flows.remote.hold",
    "flows.remote.notices",
    "flows.remote.watch_load",
    "flows.launch.guard",
    "flows.load.__main__",
    "flows.telemetry.__main__",
    "flows.control.__main__",
)


@pytest.fixture
def unpacked(tmp_path):
    zipfile.ZipFile(BytesIO(kit_for(HERE))).extractall(tmp_path)
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_of_the_kit_starts_without_any_installed_package(program, unpacked):
    code = f"import sys; sys.path.insert(0, {str(unpacked)!r}); import {program}"

    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, cwd=unpacked)


def test_the_same_python_gets_the_same_kit_by_the_same_name():
    assert digest(kit_for(HERE)) == digest(kit_for(replace(HERE, path="/elsewhere/python")))


def test_a_host_that_has_the_parser_gets_none_of_another_python():
    other = replace(HERE, tag="cpython-399-other", parser="0.6.4")

    names = zipfile.ZipFile(BytesIO(kit_for(other))).namelist()

    assert not [name for name in names if name.startswith("httptools")]


def test_a_python_for_which_there_is_no_parser_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setattr("flows.remote.kit._run", lambda words: "No matching distribution")
    other = replace(HERE, path="/usr/bin/python3.99", version=(3, 99), tag="cpython-399-other")

    with pytest.raises(InfrastructureError, match=r"No matching.*python3\.99 -m pip install"):
        kit_for(other)
