"""Writing a run's pages: beside its evidence, outside its manifest, once more the same."""

from __future__ import annotations

import shutil

import pytest

from reports.errors import ReportsError
from reports.manifest import manifest_sha256, verify
from reports.render import made_pages, render_pages, render_run
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import file_text
from reports.run.signoff_file import Approval, Signoff, Waiver


@pytest.fixture
def folder(concluded_run, tmp_path) -> RunFolder:
    """A run directory of the test's own."""
    return RunFolder(shutil.copytree(concluded_run("failures").path, tmp_path / "run"))


def signed(folder: RunFolder, manifest: str) -> None:
    """Approve that manifest."""
    signoff = Signoff(
        evidence="MEASURED",
        manifest_sha256=manifest,
        campaign="canonical",
        run="20260822-120000",
        chosen="C",
        sentence="C is chosen.",
        scope="speed",
        valid_until=None,
        rerun_when=(),
        approvals=(
            Approval(
                by="Ada Example",
                role="architect",
                statement="C serves the chat from September on.",
                at="2026-08-23T09:00:00+00:00",
                waivers=(Waiver(check="clocks/C/closed-4", reason="no telemetry here"),),
            ),
        ),
    )
    folder.file(layout.SIGNOFF).write_text(file_text(signoff))


def test_pages_stand_beside_the_evidence_and_outside_the_manifest(folder) -> None:
    rendered = render_run(folder)

    assert set(rendered.files) == {layout.REPORT_HTML, layout.REPORT_MARKDOWN, layout.JUNIT}
    assert all(path.read_bytes() for path in rendered.files.values())
    assert verify(folder) == ()
    assert rendered.manifest == manifest_sha256(folder)
    assert rendered.manifest in rendered.files[layout.REPORT_HTML].read_text()
    assert rendered.manifest in rendered.files[layout.REPORT_MARKDOWN].read_text()


def test_pages_made_again_are_the_same_bytes_and_leave_the_manifest_alone(folder) -> None:
    first = {path: path.read_bytes() for path in render_run(folder).files.values()}
    manifest = folder.file(layout.MANIFEST).read_bytes()

    again = render_pages(folder)

    assert {path: path.read_bytes() for path in again.files.values()} == first
    assert folder.file(layout.MANIFEST).read_bytes() == manifest


def test_no_pages_without_a_manifest_or_a_decision(folder) -> None:
    folder.file(layout.MANIFEST).unlink()
    with pytest.raises(ReportsError, match=r"manifest\.json"):
        made_pages(folder)

    folder.file(layout.DECISION).unlink()
    with pytest.raises(ReportsError, match=r"decision\.json"):
        render_run(folder)


def test_an_approval_is_shown_with_its_name_its_words_and_what_it_waives(folder) -> None:
    signed(folder, manifest_sha256(folder))

    page = made_pages(folder)[layout.REPORT_HTML]

    assert "Ada Example" in page
    assert "C serves the chat from September on." in page
    assert "clocks/C/closed-4: no telemetry here" in page
    assert "waived: no telemetry here" in page
    assert "the run has changed since" not in page


def test_an_approval_of_another_manifest_is_called_that(folder) -> None:
    signed(folder, "ab" * 32)

    page = made_pages(folder)[layout.REPORT_HTML]

    assert "the run has changed since: this is not its manifest" in page
    assert ">SIGNED<" not in page


def test_what_is_no_measurement_is_never_stamped_signed(concluded_run, tmp_path) -> None:
    copied = shutil.copytree(concluded_run("rehearsal").path, tmp_path / "run")
    folder = RunFolder(copied)
    signed(folder, manifest_sha256(folder))

    page = made_pages(folder)[layout.REPORT_HTML]

    assert ">REHEARSAL<" in page
    assert ">SIGNED<" not in page


def test_gates_that_are_no_screen_are_named(folder) -> None:
    folder.file(layout.GATES).write_text("[]")

    with pytest.raises(ReportsError, match=r"gates\.json.*holds no screen"):
        made_pages(folder)
