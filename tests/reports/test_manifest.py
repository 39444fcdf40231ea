"""The manifest covers every file of a run, and any change of one is seen."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.errors import ReportsError
from reports.manifest import build_manifest, is_digest, manifest_sha256, verify, write_manifest
from reports.run import layout
from reports.run.layout import RunFolder

FILES = {
    "campaign.yaml": b"name: ours\n",
    "plan.json": b"{}\n",
    "ledger.jsonl": b'{"event": "acquired"}\n',
    "cells/B--closed-16--0123abcd/0.parquet": b"PAR1\x00\xff" * 9,
    "cells/B--closed-16--0123abcd/0.cell.json": b"{}",
    "hosts/here/system.json": b"{}",
    "decision.json": b'{"outcome": "chosen"}',
}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    write_manifest(RunFolder(tmp_path))
    return RunFolder(tmp_path)


def seen(folder: RunFolder) -> list[tuple[str, str]]:
    return [(finding.kind, finding.path) for finding in verify(folder)]


def rewrite(folder: RunFolder, **entries: object) -> None:
    """The manifest with other entries, as somebody with an editor would write it."""
    path = folder.file(layout.MANIFEST)
    stated = json.loads(path.read_text())
    stated["files"] |= entries
    path.write_text(json.dumps(stated))


def test_the_manifest_names_every_file_with_its_hash_and_size(folder: RunFolder) -> None:
    manifest = build_manifest(folder)

    assert list(manifest.files) == sorted(FILES)
    for name, content in FILES.items():
        assert manifest.files[name].sha256 == hashlib.sha256(content).hexdigest()
        assert manifest.files[name].bytes == len(content)


def test_what_was_not_changed_verifies(folder: RunFolder) -> None:
    assert verify(folder) == ()


def test_the_manifest_is_the_same_bytes_when_it_is_written_again(folder: RunFolder) -> None:
    before = folder.file(layout.MANIFEST).read_bytes()

    write_manifest(folder)

    assert folder.file(layout.MANIFEST).read_bytes() == before
    assert manifest_sha256(folder) == hashlib.sha256(before).hexdigest()


@pytest.mark.parametrize("name", sorted(layout.OUTSIDE_MANIFEST - {layout.MANIFEST}))
def test_pages_and_signatures_are_outside(folder: RunFolder, name: str) -> None:
    folder.file(name).write_text("new")

    assert verify(folder) == ()


def test_what_is_being_written_is_no_evidence(folder: RunFolder) -> None:
    (folder.path / layout.PARTIAL / "cell").mkdir(parents=True)
    (folder.path / layout.PARTIAL / "cell" / "0.parquet").write_bytes(b"half")
    folder.file(".report.html.4711").write_bytes(b"half")

    assert verify(folder) == ()


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_one_changed_bit_of_any_file_is_seen(folder: RunFolder, name: str, place: str) -> None:
    content = bytearray(FILES[name])
    content[{"first": 0, "middle": len(content) // 2, "last": -1}[place]] ^= 1
    folder.file(name).write_bytes(content)

    assert seen(folder) == [("changed", name)]


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_that_grew_shrank_or_went_is_seen(folder: RunFolder, name: str) -> None:
    folder.file(name).write_bytes(FILES[name] + b"\n")
    assert seen(folder) == [("changed", name)]
    folder.file(name).write_bytes(FILES[name][:-1])
    assert seen(folder) == [("changed", name)]
    folder.file(name).unlink()
    assert seen(folder) == [("missing", name)]


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "cells/B--closed-16--0123abcd/1.parquet",
        ".0.cell.json",
        "hosts/report.html",
    ],
)
def test_a_file_that_was_put_there_is_seen(folder: RunFolder, name: str) -> None:
    folder.file(name).write_bytes(b"")

    assert seen(folder) == [("extra", name)]


def test_a_file_in_the_place_of_another_is_seen(folder: RunFolder) -> None:
    folder.file("plan.json").replace(folder.file("gates.json"))

    assert seen(folder) == [("extra", "gates.json"), ("missing", "plan.json")]


def test_a_link_is_no_evidence_even_to_the_same_bytes(folder: RunFolder) -> None:
    elsewhere = folder.path.parent / "elsewhere.json"
    elsewhere.write_bytes(FILES["plan.json"])
    folder.file("plan.json").unlink()
    folder.file("plan.json").symlink_to(elsewhere)

    assert seen(folder) == [("refused", "plan.json")]
    with pytest.raises(ReportsError, match="symbolic link"):
        build_manifest(folder)


def test_a_linked_folder_and_a_pipe_are_no_evidence(folder: RunFolder) -> None:
    (folder.path / "quality").symlink_to(folder.path.parent, target_is_directory=True)
    os.mkfifo(folder.file("gates.json"))

    assert seen(folder) == [("refused", "gates.json"), ("refused", "quality")]


def test_a_name_that_is_no_text_is_refused(folder: RunFolder) -> None:
    Path(os.fsdecode(os.fsencode(folder.path) + b"/\xff.json")).write_bytes(b"{}")

    assert [kind for kind, _ in seen(folder)] == ["refused"]


@pytest.mark.parametrize("digest", ["", "TODO", "0" * 64, "f" * 64, "A" * 63 + "B", "ab" * 31])
def test_a_placeholder_for_a_hash_is_refused(folder: RunFolder, digest: str) -> None:
    rewrite(folder, **{"plan.json": {"sha256": digest, "bytes": 3}})

    assert seen(folder) == [("refused", "plan.json")]


@pytest.mark.parametrize("place", ["../outside.json", "/etc/hostname", "a/../plan.json", ""])
def test_a_manifest_reaches_nothing_outside_of_the_run(folder: RunFolder, place: str) -> None:
    rewrite(folder, **{place: {"sha256": hashlib.sha256(b"").hexdigest(), "bytes": 0}})

    assert ("refused", place) in seen(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 2, "files": {}}', "\xff"])
def test_a_manifest_that_is_none_is_unreadable(folder: RunFolder, text: str) -> None:
    folder.file(layout.MANIFEST).write_text(text, encoding="latin-1")

    assert seen(folder) == [("unreadable", layout.MANIFEST)]


def test_an_absent_manifest_is_unreadable(folder: RunFolder) -> None:
    folder.file(layout.MANIFEST).unlink()

    assert seen(folder) == [("unreadable", layout.MANIFEST)]
    with pytest.raises(ReportsError, match=r"manifest\.json: cannot be read"):
        manifest_sha256(folder)


def test_a_manifest_of_nothing_is_refused(folder: RunFolder) -> None:
    folder.file(layout.MANIFEST).write_text('{"schema_version": 1, "files": {}}')

    assert ("refused", layout.MANIFEST) in seen(folder)


@given(st.binary())
def test_every_hash_of_bytes_is_taken_for_one(content: bytes) -> None:
    assert is_digest(hashlib.sha256(content).hexdigest())
