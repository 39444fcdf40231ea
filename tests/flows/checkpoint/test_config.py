import pytest

from catalog.architecture import read_config
from flows.checkpoint.config import generation_config
from flows.checkpoint.recipe import recipe


def test_the_config_states_the_catalogs_architecture(families):
    for model in families:
        made_of = recipe(model, "hf", 0)

        assert read_config(made_of.config) == made_of.arch == read_config(model.config)


def test_no_field_of_the_catalog_is_changed(catalog):
    model = catalog.model("tiny-llama-19m")

    assert recipe(model, "hf", 0).config == model.config | recipe(model, "hf", 0).assumed


def test_what_the_catalog_does_not_state_is_named(small):
    assumed = recipe(small("qwen3_moe", head_dim=None), "hf", 0).assumed

    assert assumed["norm_topk_prob"] is True
    assert assumed["rope_theta"] == 10_000
    assert assumed["architectures"] == ["Qwen3MoeForCausalLM"]
    assert "hidden_size" not in assumed


@pytest.mark.parametrize(
    ("family", "field", "value"),
    [
        ("granite", "attention_multiplier", 0.125),
        ("phi3", "original_max_position_embeddings", 512),
        ("gemma2", "query_pre_attn_scalar", 64),
    ],
)
def test_a_family_gets_the_fields_of_its_own(small, family, field, value):
    assert recipe(small(family), "hf", 0).config[field] == value


def test_an_engine_finds_no_sampling_to_take_over(small):
    written = generation_config(recipe(small(), "hf", 0).words)

    assert written == {"bos_token_id": 1, "eos_token_id": 2, "do_sample": False}
