"""The fixed sets are large enough, the same everywhere, and never change unnoticed."""

from __future__ import annotations

import pytest

from catalog.errors import CatalogError
from catalog.fixed_prompts import LEAST, id_prompts, text_prompts
from catalog.load import load_campaign
from catalog.schema.campaign import Quality


def test_the_texts_are_those_that_results_name():
    found = text_prompts()

    assert len(found.prompts) == len(set(found.prompts)) == 240
    assert found.name == "agreement-1"
    assert found.sha256 == "d10d9658c014a4b37430a22a37b691778640141f9a15f3ff23ea56e43c3025ac"


@pytest.mark.parametrize("vocabulary", [64, 2048, 32_000, 128_256])
def test_ids_are_inside_the_vocabulary_and_the_same_each_time(vocabulary):
    found = id_prompts(vocabulary)

    assert found == id_prompts(vocabulary)
    assert len(found.prompts) == len(set(found.prompts)) == LEAST
    assert all(
        min(1000, vocabulary // 4) <= each < vocabulary for p in found.prompts for each in p
    )


def test_golden_ids():
    assert id_prompts(32_000).prompts[0][:4] == (20673, 22714, 22775, 26765)


def test_the_word_agreement_stands_for_limits_and_no_tasks():
    found = Quality.model_validate("agreement")

    assert found.agreement.greedy.value == 0.95
    assert (found.agreement.kl, found.tasks) == (0.05, ())


CAMPAIGN = """
schema_version: 1
name: q
contract:
  model: tiny-llama-110m
  prompt_tokens: 16
  output_tokens: 8
  concurrency: 2
  quality: {quality}
candidates:
  - {{name: big, host: local, runtime: llama_server, checkpoint: dummy}}
"""


def loaded(tmp_path, quality):
    path = tmp_path / "q.yaml"
    path.write_text(CAMPAIGN.format(quality=quality))
    return load_campaign(path).contract.quality


@pytest.mark.parametrize("reference", ["big", "float16", "gguf_bf16", "https://example.org/v1"])
def test_a_reference_is_a_candidate_a_precision_or_an_address(tmp_path, reference):
    assert loaded(tmp_path, f"{{reference: '{reference}'}}").reference == reference


@pytest.mark.parametrize(
    ("quality", "seen"),
    [
        ("{reference: huge}", "neither a precision nor a candidate"),
        ("{reference: 'http://example.org/v1'}", "in the clear"),
        ("{tasks: [mmlu, mmlu]}", "named twice"),
        ("{agreement: {greedy: 101%}}", "more than the whole"),
        ("{agreement: {kl: 0}}", "greater than 0"),
        ("{agreement: {answer_tokens: 4}}", "greater than or equal to 8"),
        ("accuracy", "quality"),
    ],
)
def test_a_clause_that_cannot_be_meant_is_refused(tmp_path, quality, seen):
    with pytest.raises(CatalogError, match=seen):
        loaded(tmp_path, quality)
