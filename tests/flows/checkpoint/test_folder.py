import hashlib
import subprocess
import sys

import pytest

from flows.checkpoint.folder import FolderWriter, appearing, locked, require_room
from flows.errors import InfrastructureError


def test_a_file_is_hashed_while_it_is_written(tmp_path):
    told = []
    writer = FolderWriter(folder=tmp_path, told=told.append)

    writer.write("a", [b"one", memoryview(b"three")])

    assert (tmp_path / "a").read_bytes() == b"onethree"
    assert writer.written["a"].sha256 == hashlib.sha256(b"onethree").hexdigest()
    assert writer.written["a"].bytes == sum(told) == 8


def test_a_folder_appears_with_all_its_files_and_replaces_an_older_one(tmp_path):
    place = tmp_path / "made"
    place.mkdir()
    (place / "old").touch()

    with appearing(place) as aside:
        (aside / "new").touch()
        assert not (place / "new").exists()

    assert [path.name for path in place.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_of_a_folder_that_failed(tmp_path, fault):
    def fail():
        with appearing(tmp_path / "made") as aside:
            (aside / "half").touch()
            raise fault

    with pytest.raises(fault):
        fail()

    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path):
    left = tmp_path / ".made.partial"
    left.mkdir()
    (left / "half").touch()

    with appearing(tmp_path / "made") as aside:
        (aside / "whole").touch()

    assert [path.name for path in (tmp_path / "made").iterdir()] == ["whole"]


FULL = """
import resource, sys
from pathlib import Path
from flows.checkpoint.folder import FolderWriter, appearing
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with appearing(Path(sys.argv[1])) as aside:
    FolderWriter(folder=aside, told=lambda size: None).write("a", [bytes(1 << 20)])
"""


def test_a_disk_that_refuses_more_ends_with_what_to_do(tmp_path):
    words = [sys.executable, "-c", FULL, str(tmp_path / "made")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (
        f"InfrastructureError: {tmp_path}: it cannot be written: File too large" in done.stderr
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_ends_with_what_to_do(tmp_path):
    (tmp_path / "file").touch()

    with (
        pytest.raises(InfrastructureError, match=r"it cannot be written: File exists"),
        locked(tmp_path / "file" / "made"),
    ):
        pass


WAIT = """
import sys
from pathlib import Path
from flows.checkpoint.folder import locked
print("asks", flush=True)
with locked(Path(sys.argv[1])):
    print("holds", flush=True)
"""


def test_another_process_waits_for_its_turn(tmp_path):
    place = tmp_path / "made"

    with locked(place):
        words = [sys.executable, "-c", WAIT, str(place)]
        other = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "asks\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=0.3)

    assert other.communicate(timeout=20) == ("holds\n", None)


def test_more_than_the_disk_has_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InfrastructureError, match=r"1000000000\.0 GB are needed, .* are free"):
        require_room(tmp_path, 10**18)

    require_room(tmp_path, 1)
