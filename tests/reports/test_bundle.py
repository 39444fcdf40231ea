"""A run leaves as one file of the same bytes, and proves itself with Python alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from reports import verify_bundle
from reports.bundle import write_bundle
from reports.errors import ReportsError
from reports.manifest import manifest_sha256, verify, write_manifest
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import file_text
from tests.reports.run.builder import QUICK, B, build_run
from tests.reports.test_signoff import signed


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = build_run(tmp_path_factory.mktemp("built"), [B], replications=1, **QUICK)
    write_manifest(folder)
    signoff = signed().model_copy(update={"manifest_sha256": manifest_sha256(folder)})
    folder.file(layout.SIGNOFF).write_text(file_text(signoff))
    folder.file(layout.REPORT_HTML).write_text("<!doctype html>")
    return folder


def unpacked(bundle: Path, target: Path) -> Path:
    shutil.unpack_archive(bundle, target, filter="data" if bundle.suffix == ".tar" else None)
    return target


def proven(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """verify.py under a Python without its site and without the environment."""
    python = Path(sys.base_prefix) / "bin" / "python3"
    return subprocess.run(
        [python, "-I", "-S", place / "verify.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("ending", [".zip", ".tar"])
def test_a_bundle_proves_itself_with_pythons_standard_library(
    built: RunFolder, tmp_path: Path, ending: str
) -> None:
    bundle = tmp_path / f"run{ending}"
    count = write_bundle(built, bundle)
    place = unpacked(bundle, tmp_path / "out")

    done = proven(place)

    assert done.returncode == 0, done.stdout + done.stderr
    assert manifest_sha256(built) in done.stdout
    assert "approved by Ada Lovelace (Platform lead)" in done.stdout
    assert count == sum(1 for path in place.rglob("*") if path.is_file())
    assert verify(RunFolder(place / "run")) == ()


@pytest.mark.parametrize("ending", [".zip", ".tar"])
def test_the_same_run_gives_the_same_bytes(
    built: RunFolder, tmp_path: Path, ending: str
) -> None:
    copy = RunFolder(tmp_path / "elsewhere" / "copy")
    shutil.copytree(built.path, copy.path, copy_function=shutil.copyfile)
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"

    write_bundle(built, first)
    write_bundle(copy, second)

    assert first.read_bytes() == second.read_bytes()


def test_a_bundle_holds_the_pages_and_the_signoff_and_no_leftovers(
    built: RunFolder, tmp_path: Path
) -> None:
    copy = RunFolder(tmp_path / "copy")
    shutil.copytree(built.path, copy.path)
    (copy.path / ".partial").mkdir()
    (copy.path / ".partial" / "half").write_text("half")
    write_bundle(copy, tmp_path / "run.zip")

    names = zipfile.ZipFile(tmp_path / "run.zip").namelist()

    assert names[0] == "verify.py"
    assert {"run/signoff.json", "run/report.html", "run/manifest.json"} < set(names)
    assert [name for name in names if ".partial" in name] == []
    assert names[1:] == sorted(names[1:])


def test_a_tar_belongs_to_nobody_and_has_no_time(built: RunFolder, tmp_path: Path) -> None:
    write_bundle(built, tmp_path / "run.tar")

    with tarfile.open(tmp_path / "run.tar") as archive:
        assert {(m.uid, m.gid, m.uname, m.mtime) for m in archive} == {(0, 0, "", 0)}


def files_of(folder: RunFolder) -> list[str]:
    inside = (path for path in folder.path.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder.path).as_posix() for path in inside)


def test_a_change_of_any_file_is_seen_without_runoff(built: RunFolder, tmp_path: Path) -> None:
    write_bundle(built, tmp_path / "run.zip")
    run = unpacked(tmp_path / "run.zip", tmp_path / "out") / "run"
    pages = {layout.REPORT_HTML, layout.REPORT_MARKDOWN, layout.JUNIT, layout.SIGNOFF}
    for name in files_of(RunFolder(run)):
        if name in pages:
            continue
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        wrong, _ = verify_bundle.verdict(run)
        assert wrong, name
        (run / name).write_bytes(content)
    assert verify_bundle.verdict(run)[0] == []


def other_signoff(run: Path) -> None:
    signoff = json.loads((run / "signoff.json").read_text())
    signoff["manifest_sha256"] = "ab12" * 16
    (run / "signoff.json").write_text(json.dumps(signoff))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda run: (run / "plan.json").unlink(), "plan.json: it is missing"),
        (lambda run: (run / "new").write_text(""), "new: the manifest does not name it"),
        (lambda run: (run / "new").symlink_to("plan.json"), "new: it is no plain file"),
        (lambda run: (run / "new").symlink_to("/tmp"), "new: it is no plain file"),
        (lambda run: (run / "manifest.json").unlink(), "No such file"),
        (lambda run: (run / "manifest.json").write_text("[]"), "no JSON object"),
        (lambda run: (run / "manifest.json").write_text('{"files": {}}'), "names no file"),
        (other_signoff, "approves another manifest"),
    ],
)
def test_what_is_wrong_is_said_and_ends_with_7(
    built: RunFolder, tmp_path: Path, spoil, said: str
) -> None:
    write_bundle(built, tmp_path / "run.zip")
    place = unpacked(tmp_path / "run.zip", tmp_path / "out")
    spoil(place / "run")

    done = proven(place, str(place / "run"))

    assert done.returncode == 7
    assert said in done.stdout
    assert "OK" not in done.stdout


def test_a_placeholder_for_a_hash_is_refused_without_runoff(
    built: RunFolder, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(built.path, copy)
    stated = json.loads((copy / "manifest.json").read_text())
    stated["files"]["plan.json"]["sha256"] = "0" * 64
    (copy / "manifest.json").write_text(json.dumps(stated))

    assert "plan.json: the manifest holds no SHA-256 of it" in verify_bundle.verdict(copy)[0]


def test_the_two_verifiers_leave_the_same_files_out() -> None:
    assert verify_bundle.OUTSIDE == layout.OUTSIDE_MANIFEST
    assert verify_bundle.PARTIAL == layout.PARTIAL
    assert verify_bundle.ASIDE.pattern == layout.ASIDE.pattern


def test_a_run_that_has_changed_is_not_bundled(built: RunFolder, tmp_path: Path) -> None:
    copy = RunFolder(tmp_path / "copy")
    shutil.copytree(built.path, copy.path)
    copy.file(layout.PLAN).write_text("{}")

    with pytest.raises(ReportsError, match=r"plan\.json: it is changed"):
        write_bundle(copy, tmp_path / "run.zip")
    assert not (tmp_path / "run.zip").exists()


def test_a_bundle_overwrites_nothing_and_has_one_of_two_endings(
    built: RunFolder, tmp_path: Path
) -> None:
    (tmp_path / "there.zip").write_text("mine")

    with pytest.raises(ReportsError, match="this file exists"):
        write_bundle(built, tmp_path / "there.zip")
    with pytest.raises(ReportsError, match=r"a \.zip or a \.tar"):
        write_bundle(built, tmp_path / "run.tgz")
    assert (tmp_path / "there.zip").read_text() == "mine"
