import pytest

from catalog.architecture import parameters
from catalog.load import load_catalog
from flows.checkpoint.families import FAMILIES, family_of
from flows.checkpoint.tensors import model_tensors

MODELS = load_catalog().models
LAID_OUT = [name for name, model in MODELS.items() if model.config["model_type"] in FAMILIES]


@pytest.mark.parametrize("name", LAID_OUT)
def test_the_tensors_of_a_model_hold_its_parameters_to_the_digit(name):
    arch, family = family_of(MODELS[name])
    tensors = list(model_tensors(arch, family))

    assert sum(tensor.values for tensor in tensors) == parameters(arch)
    assert len({tensor.name for tensor in tensors}) == len(tensors)


def test_the_110m_model_has_109529856_parameters():
    tensors = model_tensors(*family_of(MODELS["tiny-llama-110m"]))

    assert sum(tensor.values for tensor in tensors) == 109_529_856


def test_a_tied_model_has_no_head_of_its_own(small):
    tied = model_tensors(*family_of(small(tie_word_embeddings=True)))
    untied = model_tensors(*family_of(small()))

    assert {each.name for each in untied} - {each.name for each in tied} == {"lm_head.weight"}


def test_a_matrix_that_hears_more_inputs_has_smaller_weights(small):
    wide, narrow = (
        {each.name: each for each in model_tensors(*family_of(small(hidden_size=size)))}
        for size in (1024, 256)
    )
    name = "model.layers.0.mlp.up_proj.weight"

    assert wide[name].deviation == narrow[name].deviation / 2


def test_gemmas_norms_store_what_is_added_to_one(small):
    tensors = {each.name: each for each in model_tensors(*family_of(small("gemma2")))}

    assert tensors["model.layers.0.input_layernorm.weight"].constant == 0
    assert tensors["model.norm.weight"].constant == 15  # the root of the width, less one
