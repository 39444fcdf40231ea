import pytest

from catalog.architecture import parameters
from flows.checkpoint.gguf_model import architecture_name, gguf_tensors, metadata
from flows.checkpoint.recipe import recipe
from flows.errors import UsageError


def test_every_parameter_is_in_the_file_once(in_gguf):
    for model in in_gguf:
        made_of = recipe(model, "gguf-f16", 0)
        tensors = gguf_tensors(made_of)

        assert sum(each.placed.values for each in tensors) == parameters(made_of.arch)
        assert len({each.placed.name for each in tensors}) == len(tensors)


def test_the_experts_of_a_layer_are_one_tensor_with_the_expert_outermost(small):
    tensors = gguf_tensors(recipe(small("mixtral"), "gguf-q8_0", 0))
    placed = {each.placed.name: each.placed for each in tensors}

    assert placed["blk.0.ffn_down_exps.weight"].dimensions == (512, 256, 4)
    assert placed["blk.0.ffn_gate_exps.weight"].dimensions == (256, 512, 4)
    assert placed["blk.0.ffn_gate_inp.weight"].storage.name == "F32"


@pytest.mark.parametrize(("family", "turned"), [("llama", 64), ("mistral", 64), ("qwen2", 0)])
def test_only_queries_and_keys_of_the_llama_architecture_change_places(small, family, turned):
    tensors = gguf_tensors(recipe(small(family), "gguf-f16", 0))
    changed = {each.placed.name for each in tensors if each.interleave}
    queries = next(each for each in tensors if each.placed.name == "blk.1.attn_q.weight")

    assert queries.interleave == turned
    assert all(".attn_q." in name or ".attn_k." in name for name in changed)


def test_vectors_are_kept_in_full(small):
    tensors = gguf_tensors(recipe(small("qwen3"), "gguf-q8_0", 0))

    for each in tensors:
        kept = "F32" if len(each.placed.dimensions) == 1 else "Q8_0"
        assert each.placed.storage.name == kept


def test_the_file_says_that_it_is_a_dummy(small):
    said = metadata(recipe(small("llama"), "gguf-q8_0", 3))

    assert said["general.description"].startswith(
        "dummy weights of small llama: random, seed 3"
    )
    assert said["general.file_type"] == 7
    assert said["llama.attention.head_count_kv"] == 2


@pytest.mark.parametrize(
    ("family", "changes", "reason"),
    [
        ("gemma2", {}, "no GGUF is written for gemma2"),
        ("phi3", {}, "no GGUF is written for phi3"),
        ("mistral", {"sliding_window": 64}, "llama architecture has no sliding window"),
        ("llama", {"rope_scaling": {"factor": 8.0}}, "its rope_scaling is not written"),
        ("qwen3_moe", {"mlp_only_layers": [0]}, "its layers differ from one another"),
        ("llama", {"hidden_size": 264}, "rows of 264 are not in blocks of 32"),
    ],
)
def test_what_the_format_cannot_say_is_refused_with_the_reason(small, family, changes, reason):
    made_of = recipe(small(family, **changes), "gguf-q8_0", 0)

    with pytest.raises(UsageError, match=reason):
        gguf_tensors(made_of)


def test_each_family_has_the_architecture_that_llama_cpp_gave_it(in_gguf):
    names = [architecture_name(recipe(model, "gguf-f16", 0)) for model in in_gguf]

    assert names == ["llama"] * 4 + ["qwen2", "qwen3", "qwen3moe"]
