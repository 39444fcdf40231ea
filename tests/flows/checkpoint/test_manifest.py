import hashlib
import json
import subprocess

import pytest

from flows.checkpoint.manifest import MANIFEST_NAME, Manifest, Written, json_bytes, verified

CONTENT = {"a": b"one", "b": b"three"}
FILES = {
    name: Written(bytes=len(text), sha256=hashlib.sha256(text).hexdigest())
    for name, text in CONTENT.items()
}
WHOLE = Manifest(key="k", about={"seed": 0}, files=FILES)


@pytest.fixture
def folder(tmp_path):
    for name, text in CONTENT.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / MANIFEST_NAME).write_bytes(json_bytes(WHOLE.json()))
    return tmp_path


def test_a_whole_folder_is_known_by_its_key(folder):
    found = verified(folder, "k")

    assert found.files == FILES
    assert found.bytes == 8
    assert verified(folder, "another") is None


def test_the_digest_is_that_of_what_sha256sum_prints(folder):
    printed = subprocess.run(
        ["sha256sum", "a", "b"], cwd=folder, capture_output=True, check=True
    )

    assert WHOLE.sha256 == hashlib.sha256(printed.stdout).hexdigest()


def test_the_digest_of_a_single_file_is_its_own():
    only = Manifest(key="k", about={}, files={"a": FILES["a"]})

    assert only.sha256 == hashlib.sha256(b"one").hexdigest()


def test_the_manifest_says_dummy():
    assert WHOLE.json()["dummy"] is True
    assert WHOLE.json()["seed"] == 0


@pytest.mark.parametrize("text", [b"onf", b"on", b"onee"])
def test_a_changed_file_breaks_the_proof(folder, text):
    (folder / "a").write_bytes(text)

    assert verified(folder, "k") is None


def test_a_missing_or_foreign_file_breaks_the_proof(folder):
    (folder / "c").touch()
    assert verified(folder, "k") is None

    (folder / "c").unlink()
    (folder / "a").unlink()
    assert verified(folder, "k") is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"{}",
        json.dumps({"key": "k", "files": {"a": {"size": 3}}}).encode(),
        json.dumps({"key": "k", "files": {"a": 3}}).encode(),
    ],
)
def test_a_list_that_is_none_proves_nothing(folder, text):
    (folder / MANIFEST_NAME).write_bytes(text)

    assert verified(folder, "k") is None


def test_a_folder_without_a_list_proves_nothing(tmp_path):
    assert verified(tmp_path, "k") is None
    assert verified(tmp_path / "missing", "k") is None
