"""Which verdict follows from answers and scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reports.errors import ReportsError
from reports.quality.again import judged_again
from reports.quality.tables import (
    Answer,
    Sample,
    answers_bytes,
    read_answers,
    read_samples,
    samples_bytes,
)
from reports.quality.verdict import assessed
from reports.run.plan_file import AgreementFacts, QualityFacts
from reports.run.quality_file import QualityFile, ReferenceFacts
from reports.run.read import file_text

PROMPTS = 200
FILE = QualityFile(candidate="q8", reference=ReferenceFacts(name="f16"))
LIMITED = QualityFacts(reference="float16", agreement=AgreementFacts())
TASKED = QualityFacts(reference="float16", tasks=("letters",))
CLEAR = {"a": -0.1, "b": -3.0, "c": -5.0}
WORDS = ("a", "b", "c", "a", "d", "e", "f", "g", "h")


def answered(who, tokens=WORDS, top=None, count=PROMPTS):
    """The same answer to every prompt."""
    return [
        Answer(who=who, prompt=number, depth=0, tokens=tokens, top=dict(top or CLEAR))
        for number in range(count)
    ]


def answers(candidate=WORDS, top=None, again=WORDS, count=PROMPTS):
    return [
        *answered("reference", count=count),
        *answered("again", again, count=count),
        *answered("candidate", candidate, top, count=count),
    ]


def samples(lost=0, gained=0, count=1000, task="letters"):
    def one(number):
        reference = 1.0 if number < lost or number >= count // 2 else 0.0
        candidate = reference
        if number < lost:
            candidate = 0.0
        elif number < lost + gained:
            candidate = 1.0
        return Sample(
            task=task,
            kind="generation",
            metric="exact_match",
            question=str(number),
            target="A",
            reference=reference,
            candidate=candidate,
            reference_answer="A",
            candidate_answer="A",
        )

    return [one(number) for number in range(count)]


def verdict(asked, given=(), scored=(), file=FILE):
    found = assessed(file, given, scored, asked)
    return found.verdict, found.why


def test_identical_greedy_answers_hold_any_clause():
    for asked in (LIMITED, TASKED, QualityFacts(reference="bfloat16")):
        assert verdict(asked, answers()) == ("holds", "identical greedy answers on 200 prompts")


def test_identical_answers_to_fewer_than_200_prompts_prove_nothing():
    assert verdict(TASKED, answers(count=199))[0] == "inconclusive"
    assert verdict(LIMITED, answers(count=199)) == (
        "inconclusive",
        "only 199 of at least 200 prompts were answered",
    )


def test_an_answer_that_the_reference_gave_the_second_time_is_its_own():
    other = ("a", "x")

    found = assessed(FILE, answers(other, again=other), (), QualityFacts(reference="f16"))

    assert found.verdict == "holds"
    assert found.agreement.identical == 200
    assert found.agreement.identical_again == 0


def test_other_answers_without_a_limit_or_a_task_are_inconclusive():
    assert verdict(QualityFacts(reference="f16"), answers(("a", "x")))[0] == "inconclusive"


def test_answers_that_part_later_within_the_limits_hold_them():
    found = assessed(FILE, answers((*WORDS[:3], "x")), (), LIMITED)

    assert found.verdict == "holds"
    assert found.agreement.identical == 0
    assert found.agreement.parted_at == 3
    assert found.agreement.first == 1
    assert found.agreement.kl == 0


def test_other_clear_tokens_miss_the_limits_and_say_so():
    word, why = verdict(LIMITED, answers(("b", "x"), {"b": -0.1, "a": -3.0}))

    assert word == "misses"
    assert "points more of the clear positions" in why
    assert "nats" in why


def test_noise_of_the_reference_is_no_loss_of_the_candidate():
    noisy = [
        replace(each, tokens=("b", "x"))
        if each.who != "reference" and each.prompt % 10 == 0
        else each
        for each in answers()
    ]

    found = assessed(FILE, noisy, (), LIMITED)

    assert found.agreement.clear == found.agreement.clear_again == pytest.approx(0.9)
    assert found.agreement.clear_excess.mean == 0
    assert found.verdict == "holds"


def test_where_the_reference_is_not_clear_another_token_is_no_difference():
    close = {"a": -1.0, "b": -1.2, "c": -5.0}
    given = [
        *answered("reference", top=close),
        *answered("again", top=close),
        *answered("candidate", ("b",), close),
    ]

    found = assessed(FILE, given, (), LIMITED)

    assert found.agreement.clear_positions == 0
    assert found.agreement.first == 0
    assert found.verdict == "inconclusive"  # nothing clear was seen, and nothing proven


@pytest.mark.parametrize("tokens", [(), (" ", "\n"), ("a",) * 9])
def test_empty_answers_and_one_repeated_token_miss_unless_weights_are_made_up(tokens):
    plain = verdict(LIMITED, answers(tokens))
    dummy = assessed(FILE.model_copy(update={"is_dummy": True}), answers(tokens), (), LIMITED)

    assert plain[0] == "misses"
    assert "200 of 200 answers are empty or one repeated token" in plain[1]
    assert dummy.sanity.verdict == "not applicable"


def test_a_reference_that_answers_nothing_is_none():
    given = [*answered("reference", ()), *answered("again", ()), *answered("candidate", ())]

    assert verdict(LIMITED, given)[0] == "inconclusive"


def test_the_reference_itself_holds_and_says_how_far_it_repeats_itself():
    given = answers(again=("a", "y"), candidate=("a", "y"))
    file = FILE.model_copy(update={"is_reference": True})

    assert verdict(TASKED, given, file=file) == (
        "holds",
        "it is the reference; it repeats itself on 0 of 200 prompts",
    )


OTHER = answers((*WORDS[:3], "x"))


@pytest.mark.parametrize(
    ("scored", "expected"),
    [
        (samples(), "holds"),
        (samples(lost=3, gained=3), "holds"),
        (samples(lost=60, gained=2), "misses"),
        (samples(lost=8, gained=2), "inconclusive"),
        (samples(count=50), "inconclusive"),
        ((), "inconclusive"),
    ],
)
def test_a_task_is_judged_by_the_limit_of_its_loss(scored, expected):
    word, why = verdict(TASKED, OTHER, scored)

    assert word == expected
    assert "letters" in why


def test_a_small_sample_says_how_many_questions_would_do():
    found = assessed(FILE, OTHER, samples(count=50), TASKED)

    assert found.tasks[0].needed == 299
    assert "about 299 questions prove that nothing is lost" in found.why


def test_a_task_that_the_reference_cannot_do_shows_no_loss():
    blank = [replace(each, reference=0.0, candidate=0.0) for each in samples()]

    word, why = verdict(TASKED, OTHER, blank)

    assert word == "inconclusive"
    assert "the reference itself scores 0%: it has nothing to lose" in why


def test_every_task_must_hold_and_one_that_misses_decides():
    asked = QualityFacts(reference="f16", tasks=("letters", "sums"))
    good, bad = samples(), samples(lost=90, task="sums")

    assert verdict(asked, OTHER, good)[0] == "inconclusive"
    assert verdict(asked, OTHER, [*good, *bad])[0] == "misses"
    assert verdict(asked, OTHER, [*good, *samples(task="sums")])[0] == "holds"


def test_loss_and_margin_of_the_contract_set_the_limit():
    wide = TASKED.model_copy(update={"max_loss": 5.0, "margin_points": 3.0})

    found = assessed(FILE, OTHER, samples(lost=60, gained=2), wide)

    assert found.tasks[0].limit == pytest.approx(0.08)
    assert found.verdict == "holds"
    assert found.tasks[0].p_value < 1e-9


def kept(folder: Path, given, file=FILE) -> Path:
    import hashlib

    content = answers_bytes(given)
    (folder / "q8.answers.parquet").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    path = folder / "q8.json"
    path.write_text(
        file_text(file.model_copy(update={"files": {"q8.answers.parquet": digest}}))
    )
    return path


def test_a_record_is_judged_again_from_its_table_whatever_it_says(tmp_path):
    lying = FILE.model_copy(update={"verdict": "holds", "why": "because"})
    path = kept(tmp_path, answers(("b", "x"), {"b": -0.1, "a": -3.0}), lying)

    assert judged_again(path, LIMITED)["verdict"] == "misses"


def test_a_record_whose_table_was_changed_proves_nothing(tmp_path):
    path = kept(tmp_path, answers())
    assert judged_again(path, LIMITED)["verdict"] == "holds"

    (tmp_path / "q8.answers.parquet").write_bytes(answers_bytes(answers(("b",))))

    found = judged_again(path, LIMITED)
    assert found["verdict"] == "inconclusive"
    assert "not the ones" in found["why"]
    (tmp_path / "q8.answers.parquet").unlink()
    assert judged_again(path, LIMITED)["verdict"] == "inconclusive"


def test_tables_are_read_as_they_were_written(tmp_path):
    (tmp_path / "a").write_bytes(answers_bytes(answers()))
    (tmp_path / "s").write_bytes(samples_bytes(samples()))

    assert list(read_answers(tmp_path / "a")) == answers()
    assert list(read_samples(tmp_path / "s")) == samples()
    (tmp_path / "a").write_text("no table")
    with pytest.raises(ReportsError, match="cannot be read"):
        read_answers(tmp_path / "a")


def test_a_record_fits_its_published_schema():
    import jsonschema

    found = assessed(FILE, OTHER, samples(), TASKED)
    schema = Path(__file__).parents[3] / "docs/schemas/quality.schema.json"

    jsonschema.validate(json.loads(file_text(found)), json.loads(schema.read_text()))
