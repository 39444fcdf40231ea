"""A host's settings are read and set there as this machine's are here."""

from __future__ import annotations

import pytest

from flows.control.host import Here
from flows.remote.control import controlled

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


def test_programs_and_files_of_a_host_are_as_its_own_hands_see_them(box, tmp_path):
    there, here = controlled(box), Here()
    file = tmp_path / "deep" / "file"

    there.write(str(file), "some words\n", 0o640)

    assert (there.read(str(file)), file.stat().st_mode & 0o777) == ("some words", 0o640)
    assert there.paths(f"{tmp_path}/*/f*") == (str(file),)
    assert there.run(["sh", "-c", "echo out; echo err >&2; exit 3"]).code == 3
    assert there.run(["no-such-program"]) == here.run(["no-such-program"])
    assert there.read("/sys/no/such/file") is None
    there.remove(str(file))
    there.remove(str(file))
    assert not file.exists()
