"""A reference's answers are found again only where all that they depend on is the same."""

from __future__ import annotations

import dataclasses

import pytest

from catalog.fixed_prompts import id_prompts
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from flows.quality.harness import Score, Scored, Tasks, harness_version
from flows.quality.kept import identity, place_of, weights_of
from flows.quality.measuring import Given, Setup
from reports.quality.tables import Answer
from reports.run.plan_file import QualityFacts

REQUEST = LaunchRequest(
    name="a",
    runtime="llama_server",
    version="b1",
    mode="process",
    model="m",
    port=1,
    checkpoint=Checkpoint(kind="dummy", sha256="ab"),
    variables=Variables(weights="float16"),
)
SETUP = Setup(
    asked=QualityFacts(reference="float16"),
    prompts=id_prompts(2048),
    answer_tokens=8,
    streams=4,
    tasks=Tasks(names=("gsm8k",)),
    environment={},
    look=lambda: None,
    said=lambda _what: None,
)
GIVEN = Given(
    answers=(Answer(who="reference", prompt=0, depth=0, tokens=("1",), top={"1": -0.1}),),
    scored=(
        Scored(
            task="gsm8k",
            kind="generation",
            rows=(Score(question="0", metric="acc", target="A", score=1.0, answer="A"),),
        ),
    ),
)


def replaced(value, **changed):
    return dataclasses.replace(value, **changed)


def test_what_was_kept_is_read_as_it_was_written(tmp_path):
    about = identity(REQUEST, SETUP)
    place_of(tmp_path, about).write(GIVEN, about)

    assert place_of(tmp_path, identity(REQUEST, SETUP)).read() == GIVEN


OTHERS = {
    "weights": (replaced(REQUEST, checkpoint=Checkpoint(kind="dummy", sha256="cd")), SETUP),
    "model": (replaced(REQUEST, model="n"), SETUP),
    "precision": (replaced(REQUEST, variables=Variables(weights="bfloat16")), SETUP),
    "runtime": (replaced(REQUEST, runtime="vllm"), SETUP),
    "release": (replaced(REQUEST, version="b2"), SETUP),
    "generation config": (
        replaced(REQUEST, variables=Variables(weights="float16", generation_config="model")),
        SETUP,
    ),
    "environment": (replaced(REQUEST, extra_env={"BACKEND": "other"}), SETUP),
    "prompts": (REQUEST, replaced(SETUP, prompts=id_prompts(4096))),
    "in flight": (REQUEST, replaced(SETUP, streams=8)),
    "length": (REQUEST, replaced(SETUP, answer_tokens=16)),
    "tasks": (REQUEST, replaced(SETUP, tasks=Tasks(names=("mmlu",)))),
    "samples": (REQUEST, replaced(SETUP, tasks=Tasks(names=("gsm8k",), samples=5))),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_identity_finds_nothing(tmp_path, what):
    about = identity(REQUEST, SETUP)
    place_of(tmp_path, about).write(GIVEN, about)

    assert place_of(tmp_path, identity(*OTHERS[what])).read() is None


def test_name_and_port_are_not_part_of_it(tmp_path):
    assert identity(replaced(REQUEST, name="b", port=2), SETUP) == identity(REQUEST, SETUP)


def test_a_damaged_record_is_not_read(tmp_path):
    place = place_of(tmp_path, identity(REQUEST, SETUP))
    place.write(GIVEN, {})
    (place.folder / "answers.parquet").write_bytes(b"other")

    assert place.read() is None


def test_what_is_not_whole_is_not_kept(tmp_path):
    place = place_of(tmp_path, identity(REQUEST, SETUP))

    place.write(replaced(GIVEN, left_out=("gsm8k: no",)), {})
    place.write(replaced(GIVEN, answers=()), {})

    assert place.read() is None


def test_weights_are_known_by_digest_revision_or_the_look_of_their_files(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_text("a")
    own = replaced(REQUEST, checkpoint=Checkpoint(kind="path", location=str(file)))
    commit = "0123456789abcdef" * 2 + "01234567"
    hub = replaced(REQUEST, checkpoint=Checkpoint(), variables=Variables(revision=commit))
    before = weights_of(own)
    file.write_text("ab")

    assert weights_of(REQUEST) == "sha256:ab"
    assert weights_of(hub) == f"revision:{commit}"
    assert before.startswith("files:")
    assert weights_of(own) != before
    assert weights_of(replaced(hub, variables=Variables())) is None
    assert weights_of(replaced(hub, variables=Variables(revision="main"))) is None
    gone = Checkpoint(kind="path", location=str(tmp_path / "none"))
    assert weights_of(replaced(REQUEST, checkpoint=gone)) is None


def test_a_task_s_scores_belong_to_the_release_of_the_harness_that_put_the_questions():
    assert identity(REQUEST, SETUP)["harness"] == harness_version()
    assert identity(REQUEST, replaced(SETUP, tasks=Tasks(names=())))["harness"] is None


def test_what_is_secret_in_the_environment_is_not_kept():
    about = identity(replaced(REQUEST, extra_env={"HF_TOKEN": "hf_secret"}), SETUP)

    assert "hf_secret" not in str(about)
