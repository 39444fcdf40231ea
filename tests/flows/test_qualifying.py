"""Who is the reference, who is asked before whom, and what is said before the start."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from catalog.fixed_prompts import id_prompts, text_prompts
from flows import qualifying
from flows.errors import UsageError
from flows.quality.harness import Tasks
from flows.quality.measuring import Given, Reference, Setup, given_as_candidate, record
from reports.quality.tables import Answer
from reports.run.plan_file import QualityFacts
from reports.run.quality_file import ReferenceFacts
from reports.run.read import file_text
from tests.reports.small import PLAN

A, B = (
    PLAN.candidates[0].model_copy(
        update={"name": name, "measured": True, "precision": precision, "kind": "launch"}
    )
    for name, precision in (("q8", "gguf_q8_0"), ("f16", "gguf_f16"))
)


def planned(reference="float16", candidates=(A, B), **changed):
    quality = QualityFacts(reference=reference, **changed)
    contract = PLAN.contract.model_copy(update={"quality": quality})
    return PLAN.model_copy(update={"contract": contract, "candidates": candidates})


def under_way(folder, plan, given_up=()):
    """As much of a campaign as the order asks for."""
    place = SimpleNamespace(path=folder, quality=lambda name: folder / f"{name}.json")
    return SimpleNamespace(
        plan=plan,
        store=SimpleNamespace(folder=place),
        is_given_up=lambda name: name in given_up,
        asked=SimpleNamespace(file=folder / "campaign.yaml"),
        around=SimpleNamespace(environment=os.environ),
        interruption=SimpleNamespace(check=lambda: None),
    )


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("float16", "f16"),
        ("gguf_f16", "f16"),
        ("q8", "q8"),
        ("bfloat16", None),
        ("https://example.org/v1/completions", None),
    ],
)
def test_the_reference_is_the_one_named_or_the_first_of_its_precision(reference, found):
    assert qualifying.reference_of(planned(reference)) == found


def test_a_candidate_that_is_not_measured_is_no_reference():
    out = B.model_copy(update={"measured": False})

    assert qualifying.reference_of(planned(candidates=(A, out))) is None


def test_the_reference_answers_first_and_nobody_twice(tmp_path):
    asked = qualifying.order(under_way(tmp_path, planned()))

    assert next(asked) == "f16"
    (tmp_path / "f16.json").write_text("{}")
    assert list(asked) == ["q8"]
    assert list(qualifying.order(under_way(tmp_path, planned()))) == ["q8"]
    assert list(qualifying.order(under_way(tmp_path, planned(), given_up=("q8",)))) == []


def test_nobody_is_launched_once_the_reference_could_not_answer(tmp_path):
    assert list(qualifying.order(under_way(tmp_path, planned()))) == ["f16"]
    assert list(qualifying.order(under_way(tmp_path, planned(), given_up=("f16",)))) == []


def test_nothing_is_asked_without_a_clause_a_reference_or_in_a_rehearsal(tmp_path):
    rehearsal = planned().model_copy(update={"rehearsal": True})
    plain = planned()
    plain = plain.model_copy(
        update={"contract": plain.contract.model_copy(update={"quality": None})}
    )

    for plan in (planned("bfloat16"), rehearsal, plain):
        assert list(qualifying.order(under_way(tmp_path, plan))) == []
        assert not qualifying.is_open(under_way(tmp_path, plan))


def test_all_candidates_are_asked_where_the_reference_is_an_endpoint(tmp_path):
    plan = planned("https://example.org/v1/completions")

    assert list(qualifying.order(under_way(tmp_path, plan))) == ["q8", "f16"]


def test_what_keeps_quality_from_being_measured_is_said_before_the_start(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("[]")

    (missing,) = qualifying.findings(under_way(tmp_path, planned("bfloat16")))
    (broken,) = qualifying.findings(under_way(tmp_path, planned(tasks=("file:bad.jsonl",))))

    assert (missing.severity, missing.where) == ("warns", "quality")
    assert (broken.severity, broken.where) == ("blocks", f"{bad}:1")
    assert list(qualifying.findings(under_way(tmp_path, planned()))) == []


TEXTS = text_prompts()


def test_a_misspelt_task_stops_a_campaign_before_anything_is_measured(tmp_path):
    (found,) = qualifying.findings(under_way(tmp_path, planned(tasks=("gsmk8",))))

    assert (found.severity, found.where) == ("blocks", "quality.tasks")
    assert "knows no task 'gsmk8'" in found.seen


def set_up(prompts=TEXTS, tasks=()):
    return Setup(
        asked=QualityFacts(reference="float16", tasks=tasks),
        prompts=prompts,
        answer_tokens=8,
        streams=1,
        tasks=Tasks(names=tasks),
        environment={},
        look=lambda: None,
        said=lambda _what: None,
    )


def recorded(folder):
    """A record of the reference, as a run holds it."""
    given = Given(
        answers=tuple(
            Answer(who=who, prompt=0, depth=0, tokens=("a", "b"), top={"a": -0.1})
            for who in ("reference", "again")
        )
    )
    reference = Reference(facts=ReferenceFacts(name="f16"), given=given)
    own = given_as_candidate(given)
    made = record("f16", set_up(), reference, own, is_dummy=False, is_reference=True)
    for name, content in made.tables.items():
        (folder / name).write_bytes(content)
    (folder / "f16.json").write_text(file_text(made.file))
    return made.file


def test_answers_of_the_reference_are_taken_from_its_record(tmp_path):
    recorded(tmp_path)

    found = qualifying._recorded(under_way(tmp_path, planned()), "f16", set_up())

    assert [each.who for each in found.given.answers] == ["reference", "again"]


def test_a_reference_s_record_of_other_prompts_or_changed_answers_is_refused(tmp_path):
    recorded(tmp_path)
    work = under_way(tmp_path, planned())

    with pytest.raises(UsageError, match="other prompts"):
        qualifying._recorded(work, "f16", set_up(id_prompts(2048)))
    (tmp_path / "f16.answers.parquet").write_bytes(b"other")
    with pytest.raises(UsageError, match="answers were changed"):
        qualifying._recorded(work, "f16", set_up())


def test_a_record_without_a_task_that_its_candidate_refused_is_not_all_of_the_reference(
    tmp_path,
):
    file = recorded(tmp_path)

    assert qualifying._holds_all(file, set_up())
    assert not qualifying._holds_all(file, set_up(tasks=("letters",)))
