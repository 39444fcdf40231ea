"""A run directory becomes facts, whatever state it is in; none is fatal."""

from __future__ import annotations

import json
import shutil

import pytest

from reports.history.find import mark_of, run_folders
from reports.history.read import facts_of
from reports.render import render_run
from reports.run import layout
from reports.run.read import file_text
from reports.run.signoff_file import Approval, Signoff
from tests.reports.history.runs import make_run
from tests.reports.runs import KINDS, concluded


def changed(path, **keys):
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_concluded_run_is_read(tmp_path, kind) -> None:
    folder = concluded(tmp_path, kind)
    render_run(folder)

    facts = facts_of(folder.path, "r")

    assert (facts.state, facts.why) == ("concluded", "")
    assert facts.has_report
    assert facts.manifest_sha256 is not None


def test_a_real_run_is_read_with_its_numbers_and_what_it_ran_on(tmp_path) -> None:
    folder = concluded(tmp_path, "chosen")
    render_run(folder)
    summary = json.loads(folder.file(layout.SUMMARY).read_text())
    cell = next(c for c in summary["candidates"][0]["cells"] if c["load_point"] == "closed-4")

    facts = facts_of(folder.path, "r")
    first = facts.candidates[0]
    point = next(
        p for p in first.points if (p.load_point, p.metric) == ("closed-4", "ttft_p95_ms")
    )

    assert point.value == cell["measures"]["ttft_p95_ms"]["value"]
    assert (point.unit, point.launches, point.verdict) == ("ms", 3, "valid")
    assert first.decision_point == "closed-4"
    assert first.marks["driver"] == "550.54.15"
    assert first.marks["release"] == "vllm 0.6.3"


@pytest.mark.parametrize(
    ("name", "change", "state", "why"),
    [
        (layout.DECISION, lambda p: p.unlink(), "broken", "it holds no decision.json"),
        (layout.SUMMARY, lambda p: p.write_text("{"), "broken", "summary.json"),
        (layout.SUMMARY, lambda p: changed(p, interrupted="x"), "broken", "manifest says"),
        (layout.DECISION, lambda p: changed(p, schema_version=2), "newer", "decision.json"),
        (layout.PLAN, lambda p: p.write_text('{"a": 1}'), "foreign", "plan.json"),
        (layout.PLAN, lambda p: p.write_text("[]"), "foreign", "plan.json"),
        (layout.PLAN, lambda p: p.write_text("\x00"), "broken", "plan.json"),
        (layout.PLAN, lambda p: p.unlink(), "broken", "it holds no plan.json"),
        (layout.MANIFEST, lambda p: p.write_text("{}"), "broken", "manifest.json"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, name, change, state, why) -> None:
    folder = make_run(tmp_path, 0)
    change(folder.file(name))

    facts = facts_of(folder.path, "r")

    assert facts.state == state
    assert why in facts.why
    assert facts.candidates == ()


def test_a_run_that_was_not_concluded_is_half(tmp_path) -> None:
    folder = make_run(tmp_path, 0)
    for name in (layout.SUMMARY, layout.DECISION, layout.MANIFEST):
        folder.file(name).unlink()

    facts = facts_of(folder.path, "r")

    assert (facts.state, facts.why) == ("half", "it holds no summary.json")
    assert facts.campaign == "nightly"


@pytest.mark.parametrize(
    ("of", "stamp", "signed_by"),
    [
        ({}, "SIGNED", ("Ada (SRE)",)),
        ({"manifest_sha256": "ab" * 32}, "MEASURED", ()),
        ({"evidence": "EXPLORATORY"}, "MEASURED", ()),
        ({"chosen": "C"}, "MEASURED", ()),
        ({"sentence": "B is the best that there is."}, "MEASURED", ()),
        ({"approvals": ()}, "MEASURED", ()),
    ],
)
def test_an_approval_counts_for_exactly_its_manifest_and_decision_as_on_the_pages(
    tmp_path, of, stamp, signed_by
) -> None:
    folder = make_run(tmp_path, 0)
    signoff = Signoff(
        evidence="MEASURED",
        manifest_sha256=facts_of(folder.path, "r").manifest_sha256 or "",
        campaign="nightly",
        run="r",
        chosen="B",
        sentence="B is chosen.",
        scope="speed",
        valid_until=None,
        rerun_when=(),
        approvals=(Approval(by="Ada", role="SRE", statement="", at="2026-01-01"),),
    )
    folder.file(layout.SIGNOFF).write_text(file_text(signoff.model_copy(update=of)))

    facts = facts_of(folder.path, "r")

    assert (facts.stamp, facts.signed_by) == (stamp, signed_by)


def test_infinite_is_not_unknown(tmp_path) -> None:
    notes = {
        "usd_per_1m_compliant": "infinite: no compliant token in the median launch",
        "ttft_p95_ms": "in the median launch it lies among the failures",
        "tpot_p95_ms": "not observed in every launch",
    }
    folder = make_run(tmp_path, 0, notes=notes)

    points = facts_of(folder.path, "r").candidates[0].points
    infinite = {p.metric for p in points if p.is_infinite}
    unknown = {p.metric for p in points if p.value is None and not p.is_infinite}

    assert infinite == {"usd_per_1m_compliant", "ttft_p95_ms"}
    assert unknown == {"tpot_p95_ms"}


def test_notes_of_infinite_numbers_are_those_that_the_summary_writes() -> None:
    from math import inf

    from catalog.quantity import Basis
    from reports.history.read import _is_infinite
    from reports.summary.numbers import over_launches

    for name, unit in (("ttft_p95_ms", "ms"), ("usd_per_1m_compliant", "USD/Mtok")):
        number = over_launches(
            [inf, inf, 1.0], name=name, unit=unit, basis=Basis.MEASUREMENT, requests=9
        )
        assert _is_infinite(number)


def test_runs_are_found_at_any_depth_and_nothing_inside_of_one_is(tmp_path) -> None:
    a = make_run(tmp_path / "runs", 0).path
    b = make_run(tmp_path / "runs" / "team" / "deep", 1).path
    (a / "launch" / "B" / "0").mkdir(parents=True)
    shutil.copy(a / "plan.json", a / "launch" / "B" / "0")
    make_run(tmp_path / "runs" / ".hidden", 2)
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "runs")

    assert list(run_folders(tmp_path / "runs")) == sorted([a, b])
    assert list(run_folders(a)) == [a]


def test_the_mark_changes_with_every_file_that_is_read(tmp_path) -> None:
    folder = make_run(tmp_path, 0).path
    (folder / "hosts").mkdir()
    marks = {mark_of(folder)}
    for name in ("plan.json", "summary.json", "decision.json", "manifest.json", "report.html"):
        with (folder / name).open("a") as file:
            file.write(" ")
        marks.add(mark_of(folder))
    (folder / "signoff.json").write_text("{}")
    marks.add(mark_of(folder))

    assert len(marks) == 7
    assert mark_of(folder) in marks
