"""The section on quality: verdicts beside their noise floor, and what is not measured."""

from __future__ import annotations

from reports.quality.verdict import assessed
from reports.run.plan_file import AgreementFacts, QualityFacts
from reports.run.quality_file import QualityFile, ReferenceFacts
from reports.sections.s09_quality import section
from tests.reports.quality.test_verdict import OTHER, samples
from tests.reports.small import PLAN, SUMMARY, small_report

ASKED = QualityFacts(reference="bfloat16", tasks=("letters",), agreement=AgreementFacts())
NAMES = tuple(each.name for each in PLAN.candidates if each.measured)


def report(*, measured: bool):
    """The small report under a clause; its first candidate is measured or not."""
    contract = PLAN.contract.model_copy(update={"quality": ASKED})
    plan = PLAN.model_copy(update={"contract": contract})
    file = QualityFile(
        candidate=NAMES[0],
        reference=ReferenceFacts(name="big", precision="bfloat16", stored=True),
        left_out=("sums: the harness knows no task 'sums'",),
    )
    found = assessed(file, OTHER, samples(count=50), ASKED).model_dump(mode="json")
    candidates = tuple(
        each.model_copy(update={"quality": found})
        if measured and each.name == NAMES[0]
        else each
        for each in SUMMARY.candidates
    )
    return small_report(
        plan=plan, summary=SUMMARY.model_copy(update={"candidates": candidates})
    )


def test_without_a_clause_there_is_no_section():
    assert section(small_report()) is None


def test_what_is_not_measured_is_said_by_name():
    found = section(report(measured=False))

    assert found["missing"] == (
        f"Quality not measured: {', '.join(NAMES)}. It is to be held against bfloat16."
    )
    assert found["agreement"] is None
    assert found["tasks"] is None


def test_each_figure_stands_beside_its_noise_and_what_it_can_show():
    found = section(report(measured=True))

    (row,) = found["agreement"].rows
    assert row[1].text == "? inconclusive"
    assert (row[2].text, row[2].detail) == ("0 of 200", "reference with itself 200")
    assert "detectable" in row[5].detail
    assert row[6].detail == "with itself 0; lists hold 96.1%"
    assert "chat templates nothing is said" in found["prompts"]
    (task,) = found["tasks"].rows
    assert task[2].text == "50"
    assert "standard error" in task[3].detail
    assert task[7].detail == "about 299 questions prove no loss"
    assert (
        "Reference: big (bfloat16); its answers were kept from an earlier run."
        in found["notes"]
    )
    assert f"{NAMES[0]}: sums: the harness knows no task 'sums'." in found["notes"]
